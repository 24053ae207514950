-- needs: views/memory_records
-- Memories by id with their current values. A function, so that its plan is kept; the plan must not read all
-- memories when there are many.
CREATE OR REPLACE FUNCTION mnemic.recall_records(of_tenant uuid, ids uuid[]) RETURNS SETOF state.memory_records
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    RETURN QUERY
    SELECT found.*
    FROM unnest(ids) AS given (memory_id)
    CROSS JOIN LATERAL (
        SELECT * FROM state.memory_records
        WHERE memory_records.tenant_id = of_tenant AND memory_records.memory_id = given.memory_id
        OFFSET 0
    ) AS found;
END
$$;
