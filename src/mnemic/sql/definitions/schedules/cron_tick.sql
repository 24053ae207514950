-- The first tick of a cron expression after a moment; `backward`, the last one up to it. NULL if there is none for
-- years.
CREATE OR REPLACE FUNCTION mnemic.cron_tick(
    minutes smallint[], hours smallint[], days smallint[], months smallint[], weekdays smallint[],
    either_day boolean, zone text, moment timestamptz, backward boolean DEFAULT false
) RETURNS timestamptz
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    -- Between two 29ths of February there may be eight years, as around 2100.
    farthest_days CONSTANT int := 8 * 366;
    today date := (moment AT TIME ZONE zone)::date;
    day date;
    found timestamptz;
BEGIN
    -- From a day too near on: a clock that is put back at midnight shows the day before once more.
    FOR distance IN -1 .. farthest_days LOOP
        day := today + CASE WHEN backward THEN -distance ELSE distance END;
        CONTINUE WHEN extract(month FROM day) <> ALL (months);
        CONTINUE WHEN CASE WHEN either_day
            THEN extract(day FROM day) <> ALL (days) AND extract(dow FROM day) <> ALL (weekdays)
            ELSE extract(day FROM day) <> ALL (days) OR extract(dow FROM day) <> ALL (weekdays)
        END;
        SELECT CASE WHEN backward THEN max(tick) ELSE min(tick) END INTO found
        FROM mnemic.ticks_on(day, minutes, hours, zone, moment, backward) AS tick
        WHERE (tick <= moment) = backward;
        EXIT WHEN found IS NOT NULL;
    END LOOP;
    RETURN found;
END
$$;
GRANT EXECUTE ON FUNCTION mnemic.cron_tick(smallint[], smallint[], smallint[], smallint[], smallint[], boolean, text, timestamptz, boolean)
TO mnemic_app, mnemic_definer;
