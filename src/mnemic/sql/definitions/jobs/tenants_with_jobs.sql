-- Up to `most` tenants that may have waiting jobs of these types, in the order of their ids, starting after
-- `after_tenant` and wrapping around. `after_tenant` comes last and is not checked: its jobs were claimed a moment
-- ago and have left dead index entries, which claiming reads anyway. Called only by claim_jobs.
CREATE OR REPLACE FUNCTION mnemic.tenants_with_jobs(known_types text[], most int, after_tenant uuid) RETURNS uuid[]
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
AS $$
DECLARE
    nobody CONSTANT uuid := '00000000-0000-0000-0000-000000000000';
    everybody CONSTANT uuid := 'ffffffff-ffff-ffff-ffff-ffffffffffff';
    candidate uuid := coalesce(after_tenant, nobody);
    before_tenant uuid := everybody;
    first_type text;
    found_tenants uuid[] := '{}';
BEGIN
    WHILE cardinality(found_tenants) < most LOOP
        SELECT jobs.tenant_id, jobs.type INTO candidate, first_type FROM queue.jobs
        WHERE jobs.state = 'waiting' AND jobs.tenant_id > candidate AND jobs.tenant_id < before_tenant
        ORDER BY jobs.tenant_id LIMIT 1;
        IF candidate IS NULL THEN
            EXIT WHEN after_tenant IS NULL;
            IF before_tenant = after_tenant THEN
                RETURN found_tenants || after_tenant;
            END IF;
            candidate := nobody;
            before_tenant := after_tenant;
        ELSIF first_type = ANY (known_types) OR EXISTS (
            SELECT FROM unnest(known_types) AS known (type)
            CROSS JOIN LATERAL (
                SELECT FROM queue.jobs
                WHERE jobs.tenant_id = candidate AND jobs.type = known.type AND jobs.state = 'waiting' LIMIT 1
            ) AS one
        ) THEN
            found_tenants := found_tenants || candidate;
        END IF;
    END LOOP;
    RETURN found_tenants;
END
$$;
REVOKE ALL ON FUNCTION mnemic.tenants_with_jobs(text[], int, uuid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION mnemic.tenants_with_jobs(text[], int, uuid) TO mnemic_definer;
