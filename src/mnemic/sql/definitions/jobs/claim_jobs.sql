-- Claims at most `slots` waiting jobs of the types that the worker knows. Fair between tenants: each tenant with
-- such jobs gets its share of the slots, starting after the tenant that this worker served last; remaining slots
-- go to tenants that have more jobs. An unregistered worker gets nothing. Called only by settle_and_claim_jobs.
CREATE OR REPLACE FUNCTION mnemic.claim_jobs(
    claimer text, known_types text[], slots int, after_tenant uuid, only_tenant uuid
) RETURNS TABLE (
    tenant_id uuid, job_id uuid, owner text, type text, payload jsonb, attempt smallint, claim int, progress jsonb
)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
-- The plan is kept, perhaps from when the table was empty: it must suit a full table. Planning in each call would
-- take as long as the rest.
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
DECLARE
    tenants uuid[] := '{}';
    served int;
    share int;
BEGIN
    PERFORM FROM mnemic.workers WHERE workers.worker = claimer FOR KEY SHARE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    tenants := CASE WHEN only_tenant IS NULL THEN mnemic.tenants_with_jobs(known_types, slots, after_tenant)
                   ELSE ARRAY[only_tenant] END;
    WHILE slots > 0 AND cardinality(tenants) > 0 LOOP
        DECLARE
            candidates uuid[] := tenants;
        BEGIN
            tenants := '{}';
            FOR number IN 1 .. cardinality(candidates) LOOP
                share := ceil(slots::numeric / (cardinality(candidates) - number + 1));
                RETURN QUERY
                UPDATE queue.jobs AS claimed
                SET state = 'running', worker = claimer, started_at = clock_timestamp(),
                    attempts = claimed.attempts + 1, claims = claimed.claims + 1
                FROM (
                    SELECT first_ones.place
                    FROM unnest(known_types) AS known (type)
                    CROSS JOIN LATERAL (
                        SELECT jobs.ctid AS place, jobs.job_id, jobs.priority, jobs.run_at FROM queue.jobs
                        WHERE jobs.tenant_id = candidates[number] AND jobs.type = known.type AND jobs.state = 'waiting'
                        ORDER BY jobs.priority DESC, jobs.run_at, jobs.job_id
                        LIMIT share FOR UPDATE SKIP LOCKED
                    ) AS first_ones
                    ORDER BY first_ones.priority DESC, first_ones.run_at, first_ones.job_id
                    LIMIT share
                ) AS chosen
                -- The rows are locked, so their ctids cannot change.
                WHERE claimed.tenant_id = candidates[number] AND claimed.ctid = chosen.place
                RETURNING claimed.tenant_id, claimed.job_id, claimed.owner, claimed.type, claimed.payload,
                    claimed.attempts, claimed.claims, claimed.progress;
                GET DIAGNOSTICS served = ROW_COUNT;
                slots := slots - served;
                EXIT WHEN slots <= 0;
                IF served = share THEN
                    tenants := tenants || candidates[number];
                END IF;
            END LOOP;
        END;
    END LOOP;
END
$$;
REVOKE ALL ON FUNCTION mnemic.claim_jobs(text, text[], int, uuid, uuid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION mnemic.claim_jobs(text, text[], int, uuid, uuid) TO mnemic_definer;
