-- No column of a protected table has statistics any more, numbers, times and ids included: the planner's estimates,
-- which EXPLAIN shows, would reveal values of other tenants (see mnemic.withhold_statistics).
DO $$
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
