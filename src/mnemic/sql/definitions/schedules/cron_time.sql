-- The first time of a cron expression after a moment; with `backward` the last one up to it. NULL if there is none
-- for years.
CREATE OR REPLACE FUNCTION mnemic.cron_time(
    minutes smallint[], hours smallint[], days smallint[], months smallint[], weekdays smallint[],
    either_day boolean, zone text, moment timestamptz, backward boolean DEFAULT false
) RETURNS timestamptz
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    -- Two 29ths of February can be eight years apart, as around 2100.
    farthest_days CONSTANT int := 8 * 366;
    today date := (moment AT TIME ZONE zone)::date;
    day date;
    found timestamptz;
BEGIN
    -- Start one day early: a clock that is put back at midnight repeats the day before.
    FOR distance IN -1 .. farthest_days LOOP
        day := today + CASE WHEN backward THEN -distance ELSE distance END;
        CONTINUE WHEN extract(month FROM day) <> ALL (months);
        CONTINUE WHEN CASE WHEN either_day
            THEN extract(day FROM day) <> ALL (days) AND extract(dow FROM day) <> ALL (weekdays)
            ELSE extract(day FROM day) <> ALL (days) OR extract(dow FROM day) <> ALL (weekdays)
        END;
        SELECT CASE WHEN backward THEN max(due_time) ELSE min(due_time) END INTO found
        FROM mnemic.cron_times_on_day(day, minutes, hours, zone, moment, backward) AS due_time
        WHERE (due_time <= moment) = backward;
        EXIT WHEN found IS NOT NULL;
    END LOOP;
    RETURN found;
END
$$;
GRANT EXECUTE ON FUNCTION mnemic.cron_time(smallint[], smallint[], smallint[], smallint[], smallint[], boolean, text, timestamptz, boolean)
TO mnemic_app, mnemic_definer;
