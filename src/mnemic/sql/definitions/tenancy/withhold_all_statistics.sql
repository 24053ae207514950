-- Does the same as mnemic.withhold_statistics() for every table under row-level security: for tables that were
-- protected by an earlier version, for state.tenants, and for expressions in indexes that were created later.
CREATE OR REPLACE PROCEDURE mnemic.withhold_all_statistics()
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    guarded regclass;
BEGIN
    FOR guarded IN
        SELECT oid FROM pg_class
        WHERE relrowsecurity AND relkind IN ('r', 'p')
          AND relnamespace::regnamespace::text IN ('state', 'vectors', 'traces', 'queue')
    LOOP
        CALL mnemic.withhold_statistics(guarded);
    END LOOP;
END
$$;
REVOKE ALL ON PROCEDURE mnemic.withhold_all_statistics() FROM PUBLIC;
CALL mnemic.withhold_all_statistics();
