-- needs: schedules/cron_time
-- The next time of a schedule after a moment; with `backward` the last one up to it. An interval stays on its
-- grid: its times are whole intervals away from `next_run_at`.
CREATE OR REPLACE FUNCTION mnemic.schedule_time(planned queue.schedules, moment timestamptz, backward boolean DEFAULT false)
RETURNS timestamptz
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
RETURN CASE WHEN planned.every_s IS NULL
    THEN mnemic.cron_time(
        planned.minutes, planned.hours, planned.days, planned.months, planned.weekdays, planned.either_day,
        planned.timezone, moment, backward
    )
    ELSE planned.next_run_at + make_interval(secs => planned.every_s * (
        floor(extract(epoch FROM moment - planned.next_run_at) / planned.every_s) + CASE WHEN backward THEN 0 ELSE 1 END
    ))
END;
GRANT EXECUTE ON FUNCTION mnemic.schedule_time(queue.schedules, timestamptz, boolean) TO mnemic_app, mnemic_definer;
