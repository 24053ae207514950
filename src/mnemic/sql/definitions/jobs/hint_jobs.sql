-- @@
CREATE OR REPLACE FUNCTION mnemic.hint_jobs() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM mnemic.hint('jobs');
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER hint_jobs AFTER INSERT ON queue.jobs FOR EACH STATEMENT EXECUTE FUNCTION mnemic.hint_jobs();

-- Where a tenant sets one, the worker inside its own process, if there is one, begins to tick.
CREATE OR REPLACE TRIGGER hint_jobs AFTER INSERT OR UPDATE ON queue.schedules FOR EACH ROW
WHEN (current_user <> 'mnemic_definer')
EXECUTE FUNCTION mnemic.hint_jobs();
