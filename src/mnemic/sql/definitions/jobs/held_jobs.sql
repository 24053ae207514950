-- The jobs that a worker holds, and whether somebody asked to cancel them.
CREATE OR REPLACE FUNCTION mnemic.held_jobs(holder text)
RETURNS TABLE (tenant_id uuid, job_id uuid, claim int, cancel_requested boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM mnemic.require_working();
    RETURN QUERY
    SELECT jobs.tenant_id, jobs.job_id, jobs.claims, jobs.cancel_requested
    FROM queue.jobs
    WHERE jobs.state = 'running' AND jobs.worker = holder;
END
$$;
CALL mnemic.seal('mnemic.held_jobs(text)');
