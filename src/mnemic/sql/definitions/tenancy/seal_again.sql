-- For restoring a backup, which gives everything to whoever restores: hands back to mnemic_definer the
-- functions that must run as it, and the tables that its functions make.
CREATE OR REPLACE PROCEDURE mnemic.seal_again()
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
REVOKE ALL ON PROCEDURE mnemic.seal_again() FROM PUBLIC;
