-- Keeps `branch`, and the channel of a statement, when the channel of a memory changes: by a merge, by undoing it, or by a
-- promotion.
CREATE OR REPLACE FUNCTION mnemic.follow_channel() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    NEW.branch := mnemic.branch_of(NEW.tenant_id, NEW.owner, NEW.channel);
    UPDATE state.statements SET channel = NEW.channel
    WHERE statements.tenant_id = NEW.tenant_id AND statements.memory_id = NEW.memory_id;
    RETURN NEW;
END
$$;

CREATE OR REPLACE TRIGGER follow_channel BEFORE UPDATE OF channel ON state.memories FOR EACH ROW
WHEN (OLD.channel IS DISTINCT FROM NEW.channel)
EXECUTE FUNCTION mnemic.follow_channel();
