-- Gives a new tenant the default schedules.
CREATE OR REPLACE FUNCTION mnemic.create_default_schedules() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    INSERT INTO queue.schedules (tenant_id, name, job_type, every_s, next_run_at)
    SELECT NEW.tenant_id, first.* FROM mnemic.default_schedules(NEW.tenant_id) AS first;
    RETURN NULL;
END
$$;
CALL mnemic.run_as_definer('mnemic.create_default_schedules()', 'mnemic_definer');

CREATE OR REPLACE TRIGGER create_default_schedules AFTER INSERT ON state.tenants FOR EACH ROW
EXECUTE FUNCTION mnemic.create_default_schedules();
