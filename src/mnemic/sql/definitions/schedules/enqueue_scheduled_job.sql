-- Adds the job of a schedule for one point in time and returns its id; NULL if it was added before. Called only by
-- run_due_schedules.
CREATE OR REPLACE FUNCTION mnemic.enqueue_scheduled_job(planned queue.schedules, due_time timestamptz) RETURNS uuid
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    job_key text := format(
        'schedule %s %s', planned.name, to_char(due_time AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    );
    added uuid := mnemic.new_id();
BEGIN
    INSERT INTO queue.job_keys (tenant_id, type, key, job_id, owner)
    VALUES (planned.tenant_id, planned.job_type, job_key, added, planned.owner)
    ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    INSERT INTO queue.jobs (tenant_id, job_id, owner, type, payload, priority, key)
    VALUES (
        planned.tenant_id, added, planned.owner, planned.job_type, planned.payload, planned.priority, job_key
    );
    RETURN added;
END
$$;
REVOKE ALL ON FUNCTION mnemic.enqueue_scheduled_job(queue.schedules, timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION mnemic.enqueue_scheduled_job(queue.schedules, timestamptz) TO mnemic_definer;
