-- stage: before tables
-- needs: tenancy/run_as_definer
-- Creates the partition of a day in the memory log, unless it exists; returns whether it did. Attaching a finished
-- table takes a lock that does not block readers and writers. For mnemic.make_log_partitions() and for a restore,
-- which creates the days of a backup.
CREATE OR REPLACE FUNCTION mnemic.create_log_partition(day date) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
AS $$
DECLARE
    partition text := format('traces.memory_log_%s', to_char(day, 'YYYYMMDD'));
BEGIN
    IF to_regclass(partition) IS NOT NULL THEN
        RETURN false;
    END IF;
    EXECUTE format('CREATE TABLE %s (LIKE traces.memory_log INCLUDING ALL)', partition);
    CALL mnemic.protect(partition::regclass, 'SELECT');
    EXECUTE format(
        'ALTER TABLE traces.memory_log ATTACH PARTITION %s FOR VALUES FROM (%L) TO (%L)',
        partition, day::timestamptz, (day + 1)::timestamptz
    );
    RETURN true;
END
$$;
CALL mnemic.run_as_definer('mnemic.create_log_partition(date)', 'mnemic_definer');
