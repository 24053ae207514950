-- The jobs that a worker runs, and whether cancelling them was requested.
CREATE OR REPLACE FUNCTION mnemic.list_claimed_jobs(holder text)
RETURNS TABLE (tenant_id uuid, job_id uuid, claim int, cancel_requested boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM mnemic.require_worker_proof();
    RETURN QUERY
    SELECT jobs.tenant_id, jobs.job_id, jobs.claims, jobs.cancel_requested
    FROM queue.jobs
    WHERE jobs.state = 'running' AND jobs.worker = holder;
END
$$;
CALL mnemic.run_as_definer('mnemic.list_claimed_jobs(text)');
