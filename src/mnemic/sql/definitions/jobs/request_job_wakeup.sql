-- Wakes workers when jobs were added, and the in-process worker when a tenant changed a schedule.
CREATE OR REPLACE FUNCTION mnemic.request_job_wakeup() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM mnemic.request_wakeup('jobs');
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER request_job_wakeup AFTER INSERT ON queue.jobs FOR EACH STATEMENT
EXECUTE FUNCTION mnemic.request_job_wakeup();

-- When a tenant changes a schedule, the worker in its own process, if any, starts to run schedules.
CREATE OR REPLACE TRIGGER request_job_wakeup AFTER INSERT OR UPDATE ON queue.schedules FOR EACH ROW
WHEN (current_user <> 'mnemic_definer')
EXECUTE FUNCTION mnemic.request_job_wakeup();
