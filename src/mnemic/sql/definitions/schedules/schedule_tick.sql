-- needs: schedules/cron_tick
-- The same for a schedule. An interval keeps to its grid, forward and back: its ticks lie whole intervals away from
-- the next one.
CREATE OR REPLACE FUNCTION mnemic.schedule_tick(planned queue.schedules, moment timestamptz, backward boolean DEFAULT false)
RETURNS timestamptz
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
RETURN CASE WHEN planned.every_s IS NULL
    THEN mnemic.cron_tick(
        planned.minutes, planned.hours, planned.days, planned.months, planned.weekdays, planned.either_day,
        planned.timezone, moment, backward
    )
    ELSE planned.next_run_at + make_interval(secs => planned.every_s * (
        floor(extract(epoch FROM moment - planned.next_run_at) / planned.every_s) + CASE WHEN backward THEN 0 ELSE 1 END
    ))
END;
GRANT EXECUTE ON FUNCTION mnemic.schedule_tick(queue.schedules, timestamptz, boolean) TO mnemic_app, mnemic_definer;
