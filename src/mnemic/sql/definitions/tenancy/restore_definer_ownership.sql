-- After restoring a backup, which gives everything to the restoring role: gives mnemic_definer its functions back,
-- and the tables that its functions create.
CREATE OR REPLACE PROCEDURE mnemic.restore_definer_ownership()
LANGUAGE plpgsql
AS $$
DECLARE
    unsealed regprocedure;
    made regclass;
BEGIN
    GRANT CREATE ON SCHEMA mnemic TO mnemic_definer;
    FOR unsealed IN
        SELECT pg_proc.oid FROM pg_proc WHERE pronamespace = 'mnemic'::regnamespace AND prosecdef
    LOOP
        EXECUTE format('ALTER FUNCTION %s OWNER TO mnemic_definer', unsealed);
    END LOOP;
    REVOKE CREATE ON SCHEMA mnemic FROM mnemic_definer;
    FOR made IN
        SELECT pg_class.oid FROM pg_class
        WHERE relkind IN ('r', 'p') AND (
            relnamespace = 'vectors'::regnamespace
            OR pg_class.oid IN (SELECT relid FROM pg_partition_tree('traces.memory_log'))
        )
    LOOP
        EXECUTE format('ALTER TABLE %s OWNER TO mnemic_definer', made);
    END LOOP;
END
$$;
REVOKE ALL ON PROCEDURE mnemic.restore_definer_ownership() FROM PUBLIC;
