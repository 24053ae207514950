-- Drops the partitions of all days that ended more than `keep_days` days ago, for every tenant, and returns their
-- names. Callable by a superuser or a member of mnemic_definer: a grant to the migrator would name a role that may
-- not exist on the server where a backup is restored. It blocks all writers while it drops, so it uses a lock
-- timeout instead of queueing them behind a long transaction.
CREATE OR REPLACE FUNCTION mnemic.drop_log_partitions(keep_days int) RETURNS SETOF text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
SET lock_timeout = '5s'
AS $$
DECLARE
    today CONSTANT date := mnemic.retention_time()::date;
    partition text;
BEGIN
    IF keep_days IS NULL OR keep_days < 1 THEN
        RAISE invalid_parameter_value USING MESSAGE = 'the memory log keeps at least 1 day';
    END IF;
    FOR partition IN
        SELECT relname FROM pg_inherits JOIN pg_class ON oid = inhrelid
        WHERE inhparent = 'traces.memory_log'::regclass
          AND to_date(right(relname, 8), 'YYYYMMDD') < today - keep_days
        ORDER BY relname
    LOOP
        EXECUTE format('DROP TABLE traces.%I', partition);
        RETURN NEXT partition;
    END LOOP;
END
$$;
CALL mnemic.run_as_definer('mnemic.drop_log_partitions(int)', 'mnemic_definer');
