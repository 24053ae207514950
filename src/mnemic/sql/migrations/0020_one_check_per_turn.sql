-- A worker's turn asks once who calls, and not again in each of its statements.
--
-- A policy is verified by every statement that meets it, and several times where a statement both reads and writes:
-- a fifth of a turn's time. So mnemic_definer sees the jobs of all tenants, as it sees all memories (migration 0005).
-- Nobody can act as that role; its functions ask first who calls, a worker or a tenant, and for a tenant they name it
-- in every condition (docs/adr/0017-statements-that-carry-their-signature.md). For everybody else the policy of the tenant stays.
DROP POLICY ticking ON queue.jobs;
ALTER POLICY working ON queue.jobs USING (true);
ALTER POLICY working ON queue.finished_jobs USING (true);
ALTER POLICY working ON queue.attempts USING (true);

-- Erasing, as in migration 0009, and by the tenant's id as well as by its policy.
CREATE OR REPLACE FUNCTION mnemic.erase_owner(erased text) RETURNS TABLE (table_name text, row_count bigint)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    verified_tenant CONSTANT uuid := mnemic.current_tenant();
    owned record;
BEGIN
    IF (mnemic.verified('maintenance') = verified_tenant::text) IS NOT TRUE THEN
        RAISE insufficient_privilege USING MESSAGE = 'erasing needs a proof of maintenance';
    END IF;
    -- Children before parents, so that each row is counted where it is and not lost in a cascade.
    FOR owned IN
        SELECT tables.guarded, concat_ws(' OR ', tables.condition, receiver.condition) AS condition
        FROM mnemic.owned_tables() AS tables
        LEFT JOIN LATERAL (
            SELECT 'granted_to = $1' AS condition
            FROM pg_attribute
            WHERE attrelid = tables.guarded AND attname = 'granted_to' AND NOT attisdropped
        ) AS receiver ON true
        ORDER BY tables.depth DESC, tables.guarded::text
    LOOP
        EXECUTE format('DELETE FROM %s AS child WHERE child.tenant_id = $2 AND (%s)', owned.guarded, owned.condition)
        USING erased, verified_tenant;
        GET DIAGNOSTICS row_count = ROW_COUNT;
        table_name := owned.guarded::text;
        RETURN NEXT;
    END LOOP;
END
$$;

-- A turn, as in migration 0012, without the proof that its statements needed.
CREATE OR REPLACE FUNCTION mnemic.take_turn(
    holder text, outcomes jsonb, known_types text[], slots int, after_tenant uuid, only_tenant uuid, signed text
) RETURNS TABLE (
    tenant_id uuid, job_id uuid, owner text, type text, payload jsonb, attempt smallint, claim int, progress jsonb
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    -- Hashed before they are compared, so that the time it takes tells nothing.
    IF (sha256(convert_to(signed, 'UTF8'))
        = sha256(convert_to(mnemic.signature('turn', 'queue', mnemic.process()), 'UTF8'))) IS NOT TRUE THEN
        RAISE insufficient_privilege USING MESSAGE = 'working on jobs needs a proof of working';
    END IF;
    IF outcomes <> '[]' THEN
        PERFORM mnemic.settle_jobs(holder, outcomes);
    END IF;
    IF slots > 0 THEN
        RETURN QUERY SELECT * FROM mnemic.claim_jobs(holder, known_types, slots, after_tenant, only_tenant);
    END IF;
END
$$;
