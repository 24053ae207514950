-- Two functions of migration 0012 anew, so that jobs start sooner.

-- Lets scheduled jobs whose time has come wait like the others, at most `most` of each tenant, and leaves a hint that
-- there are some: whoever lets them wait need not be who claims them. Returns in how many seconds the next one is due;
-- 0 when there are more, NULL when there are none.
CREATE OR REPLACE FUNCTION mnemic.promote_jobs(only_tenant uuid, most int) RETURNS double precision
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
DECLARE
    candidate uuid := '00000000-0000-0000-0000-000000000000';
    due timestamptz;
    next_due timestamptz;
BEGIN
    PERFORM mnemic.require_working();
    LOOP
        -- From tenant to tenant by the index: one look each, however many jobs each of them has.
        SELECT jobs.tenant_id, jobs.run_at INTO candidate, due FROM queue.jobs
        WHERE jobs.state = 'scheduled' AND jobs.tenant_id > candidate
          AND (only_tenant IS NULL OR jobs.tenant_id = only_tenant)
        ORDER BY jobs.tenant_id, jobs.run_at LIMIT 1;
        EXIT WHEN NOT FOUND;
        IF due <= clock_timestamp() THEN
            UPDATE queue.jobs SET state = 'waiting' FROM (
                SELECT ripe.job_id FROM queue.jobs AS ripe
                WHERE ripe.tenant_id = candidate AND ripe.state = 'scheduled' AND ripe.run_at <= clock_timestamp()
                ORDER BY ripe.run_at LIMIT most FOR UPDATE SKIP LOCKED
            ) AS ripe
            WHERE jobs.tenant_id = candidate AND jobs.job_id = ripe.job_id;
            IF FOUND THEN
                PERFORM mnemic.hint('jobs');
            END IF;
            SELECT min(jobs.run_at) INTO due FROM queue.jobs
            WHERE jobs.state = 'scheduled' AND jobs.tenant_id = candidate;
        END IF;
        next_due := least(next_due, due);
    END LOOP;
    RETURN greatest(extract(epoch FROM next_due - clock_timestamp()), 0);
END
$$;

-- Up to `most` tenants that may have waiting jobs of these types, in the order of their ids, from the one behind
-- `after_tenant` on and around. That one itself comes last, and is not asked: whoever was served a moment ago has left
-- an index full of jobs that are gone, and claiming goes through it anyway. Only for claim_jobs.
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
