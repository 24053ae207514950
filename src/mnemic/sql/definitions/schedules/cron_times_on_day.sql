-- The times of a cron expression on one day of a time zone, unordered: at least the one nearest to a moment,
-- before it (`backward`) or after it.
--
-- When the clock is put forward, times within the gap come right after it; when it is put back, times in the
-- repeated hour come the second time only. But an expression that names no hours runs in every hour that passes,
-- including both of those: its times are enumerated minute by minute for the three nearest hours.
CREATE OR REPLACE FUNCTION mnemic.cron_times_on_day(
    day date, minutes smallint[], hours smallint[], zone text, moment timestamptz, backward boolean
) RETURNS SETOF timestamptz
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT (day + make_time(hour, minute, 0)) AT TIME ZONE zone
    FROM unnest(hours) AS hour, unnest(minutes) AS minute
    WHERE cardinality(hours) < 24
    UNION ALL
    SELECT candidate
    FROM (
        SELECT date_trunc('minute', CASE WHEN backward
            THEN least(moment, (day + 1)::timestamp AT TIME ZONE zone) - interval '3 hours'
            ELSE greatest(moment, day::timestamp AT TIME ZONE zone)
        END) AS first
    ) AS nearest, generate_series(first, first + interval '181 minutes', interval '1 minute') AS candidate
    WHERE cardinality(hours) = 24 AND (candidate AT TIME ZONE zone)::date = day
      AND extract(minute FROM candidate AT TIME ZONE zone) = ANY (minutes);
END;
GRANT EXECUTE ON FUNCTION mnemic.cron_times_on_day(date, smallint[], smallint[], text, timestamptz, boolean)
TO mnemic_app, mnemic_definer;
