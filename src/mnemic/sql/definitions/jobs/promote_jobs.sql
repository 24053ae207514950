-- Promotes due scheduled jobs to waiting, at most `most` of each tenant, and requests a wakeup if there were any:
-- another worker may claim them. Returns the seconds until the next one is due; 0 if more are due, NULL if none is
-- scheduled.
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
    PERFORM mnemic.require_worker_proof();
    LOOP
        -- Skip from tenant to tenant in the index: one lookup each, however many jobs a tenant has.
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
                PERFORM mnemic.request_wakeup('jobs');
            END IF;
            SELECT min(jobs.run_at) INTO due FROM queue.jobs
            WHERE jobs.state = 'scheduled' AND jobs.tenant_id = candidate;
        END IF;
        next_due := least(next_due, due);
    END LOOP;
    -- greatest() ignores NULL: without a scheduled job it would return 0.
    RETURN CASE WHEN next_due IS NOT NULL THEN greatest(extract(epoch FROM next_due - clock_timestamp()), 0) END;
END
$$;
CALL mnemic.run_as_definer('mnemic.promote_jobs(uuid, int)');
