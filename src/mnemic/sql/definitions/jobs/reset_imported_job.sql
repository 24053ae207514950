-- An imported running job waits again, since no worker comes with it. Only imports add running jobs as
-- mnemic_definer.
CREATE OR REPLACE FUNCTION mnemic.reset_imported_job() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    NEW.state := 'waiting';
    NEW.worker := NULL;
    NEW.started_at := NULL;
    RETURN NEW;
END
$$;

CREATE OR REPLACE TRIGGER reset_imported_job BEFORE INSERT ON queue.jobs FOR EACH ROW
WHEN (NEW.state = 'running' AND current_user = 'mnemic_definer')
EXECUTE FUNCTION mnemic.reset_imported_job();
