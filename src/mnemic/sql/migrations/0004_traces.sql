-- What was done: destructive acts in the audit log, writes and reads in the memory log. The
-- application may add to both and read them, never change them.

-- An act is two rows. Its `intent` is committed before it begins; its outcome, `succeeded` or `failed`,
-- refers to the intent and says what came of it. An intent that has no outcome is an act that was cut
-- short, by a crash for example: nobody knows how far it came.
CREATE TABLE traces.audit_log (
    tenant_id uuid NOT NULL REFERENCES state.tenants,
    audit_id uuid NOT NULL DEFAULT mnemic.new_id(),
    intent_id uuid,
    -- Nobody's where the act concerns the whole tenant, and where it erases its owner.
    owner text CHECK (char_length(owner) BETWEEN 1 AND 256),
    process text NOT NULL CHECK (char_length(process) BETWEEN 1 AND 256),
    action text NOT NULL CHECK (char_length(action) BETWEEN 1 AND 256),
    target text NOT NULL CHECK (char_length(target) BETWEEN 1 AND 1024),
    phase text NOT NULL CHECK (phase IN ('intent', 'succeeded', 'failed')),
    detail jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(detail) = 'object'),
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, audit_id),
    FOREIGN KEY (tenant_id, intent_id) REFERENCES traces.audit_log ON DELETE CASCADE,
    CONSTRAINT outcomes_have_an_intent CHECK ((phase = 'intent') = (intent_id IS NULL))
);
COMMENT ON TABLE traces.audit_log IS 'Destructive acts: the intent before, the outcome after.';
-- One outcome for each intent; it also serves the foreign key.
CREATE UNIQUE INDEX audit_log_outcome ON traces.audit_log (tenant_id, intent_id);
CREATE INDEX audit_log_recent ON traces.audit_log (tenant_id, at DESC, audit_id DESC);
CREATE INDEX audit_log_owner ON traces.audit_log (tenant_id, owner, at DESC, audit_id DESC);
CALL mnemic.protect('traces.audit_log', 'SELECT, INSERT');

-- One row per call, however many memories it wrote or found. Days (of UTC) are partitions, so that old
-- ones go by dropping a table. There is no foreign key to state.tenants: the policy proves the tenant
-- already, and a new day would have to lock that table.
CREATE TABLE traces.memory_log (
    tenant_id uuid NOT NULL,
    log_id uuid NOT NULL DEFAULT mnemic.new_id(),
    logged_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    owner text NOT NULL CHECK (char_length(owner) BETWEEN 1 AND 256),
    channel text NOT NULL CHECK (char_length(channel) BETWEEN 1 AND 256),
    process text NOT NULL CHECK (char_length(process) BETWEEN 1 AND 256),
    conversation text CHECK (char_length(conversation) BETWEEN 1 AND 256),
    operation text NOT NULL CHECK (char_length(operation) BETWEEN 1 AND 64),
    memory_count int NOT NULL CHECK (memory_count >= 0),
    duration_ms real CHECK (duration_ms >= 0),
    detail jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(detail) = 'object'),
    PRIMARY KEY (tenant_id, log_id, logged_at)
) PARTITION BY RANGE (logged_at);
COMMENT ON TABLE traces.memory_log IS 'What was written and read, a row per call, a partition per day.';
CREATE INDEX memory_log_owner ON traces.memory_log (tenant_id, owner, logged_at DESC, log_id DESC);
CALL mnemic.protect('traces.memory_log', 'SELECT, INSERT');

-- Only a table's owner can add partitions to it, so mnemic_definer owns this one.
GRANT CREATE ON SCHEMA traces TO mnemic_definer;
GRANT EXECUTE ON PROCEDURE mnemic.protect(regclass, text) TO mnemic_definer;
ALTER TABLE traces.memory_log OWNER TO mnemic_definer;

-- Makes the partitions of `first_day` and the days after it, as far as they are missing, and returns
-- how many those were. It waits for nobody but for another one that does the same: attaching a
-- finished table takes a lock that lets all reading and writing pass.
CREATE FUNCTION mnemic.make_log_partitions(first_day date, days int) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
AS $$
DECLARE
    -- A caller may be hostile: it can make no more than the partitions of these many days.
    farthest_days CONSTANT int := 400;
    made int := 0;
    day date;
    partition text;
BEGIN
    IF mnemic.current_tenant() IS NULL THEN
        RAISE insufficient_privilege USING MESSAGE = 'no tenant was proved';
    END IF;
    IF first_day < current_date - farthest_days OR first_day + days > current_date + farthest_days THEN
        RAISE datetime_field_overflow USING MESSAGE =
            format('the memory log keeps days within %s days of today', farthest_days);
    END IF;
    LOCK TABLE traces.memory_log IN SHARE UPDATE EXCLUSIVE MODE;
    FOR ahead IN 0 .. days - 1 LOOP
        day := first_day + ahead;
        partition := format('traces.memory_log_%s', to_char(day, 'YYYYMMDD'));
        CONTINUE WHEN to_regclass(partition) IS NOT NULL;
        EXECUTE format('CREATE TABLE %s (LIKE traces.memory_log INCLUDING ALL)', partition);
        CALL mnemic.protect(partition::regclass, 'SELECT');
        EXECUTE format(
            'ALTER TABLE traces.memory_log ATTACH PARTITION %s FOR VALUES FROM (%L) TO (%L)',
            partition, day::timestamptz, (day + 1)::timestamptz
        );
        made := made + 1;
    END LOOP;
    RETURN made;
END
$$;
CALL mnemic.seal('mnemic.make_log_partitions(date, int)');

-- Adds a row; if its day has no partition yet, makes that one and a week ahead first. Runs with the
-- rights of the caller. The inner block costs a subtransaction, a few microseconds; it is what keeps
-- the day's first writers from ever seeing an error.
CREATE FUNCTION mnemic.write_memory_log(entry traces.memory_log) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    days_made_ahead CONSTANT int := 7;
BEGIN
    BEGIN
        INSERT INTO traces.memory_log VALUES (entry.*);
    EXCEPTION WHEN check_violation THEN
        -- "No partition for this row", or a real fault in it, which the second try then reports.
        PERFORM mnemic.make_log_partitions((entry.logged_at AT TIME ZONE 'UTC')::date, 1 + days_made_ahead);
        INSERT INTO traces.memory_log VALUES (entry.*);
    END;
END
$$;

-- Drops the partitions of all days that ended more than `keep_days` days ago, for every tenant, and
-- returns their names. For a superuser, or a member of mnemic_definer: a grant to the migrator would name
-- a role that the server on which a backup is restored does not have. It must hold back all writers
-- while it drops, so it gives up soon rather than make them queue behind a long transaction.
CREATE FUNCTION mnemic.drop_log_partitions(keep_days int) RETURNS SETOF text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
SET lock_timeout = '5s'
AS $$
DECLARE
    partition text;
BEGIN
    IF keep_days IS NULL OR keep_days < 1 THEN
        RAISE invalid_parameter_value USING MESSAGE = 'the memory log keeps at least 1 day';
    END IF;
    FOR partition IN
        SELECT relname FROM pg_inherits JOIN pg_class ON oid = inhrelid
        WHERE inhparent = 'traces.memory_log'::regclass
          AND to_date(right(relname, 8), 'YYYYMMDD') < current_date - keep_days
        ORDER BY relname
    LOOP
        EXECUTE format('DROP TABLE traces.%I', partition);
        RETURN NEXT partition;
    END LOOP;
END
$$;
CALL mnemic.seal('mnemic.drop_log_partitions(int)', 'mnemic_definer');
