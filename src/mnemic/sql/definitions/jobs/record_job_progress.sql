-- Stores the progress payloads of running jobs. `reports` is an array of objects with tenant_id, job_id, claim and
-- progress.
CREATE OR REPLACE FUNCTION mnemic.record_job_progress(holder text, reports jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM mnemic.require_worker_proof();
    UPDATE queue.jobs SET progress = given.progress
    FROM jsonb_to_recordset(reports) AS given (tenant_id uuid, job_id uuid, claim int, progress jsonb)
    WHERE jobs.tenant_id = given.tenant_id AND jobs.job_id = given.job_id
      AND jobs.state = 'running' AND jobs.worker = holder AND jobs.claims = given.claim;
END
$$;
CALL mnemic.run_as_definer('mnemic.record_job_progress(text, jsonb)');
