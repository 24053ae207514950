-- Keeps `branch`, and the channel of a statement, when the channel of a memory changes: by a merge, by undoing it, or by a
-- promotion. A turn that enters or leaves a branch takes its conversation along, which lies on one side of a fork. Runs as
-- mnemic_definer because the application may not move conversations; the tenant's policy still applies.
CREATE OR REPLACE FUNCTION mnemic.follow_channel() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    NEW.branch := mnemic.branch_of(NEW.tenant_id, NEW.owner, NEW.channel);
    UPDATE state.statements SET channel = NEW.channel
    WHERE statements.tenant_id = NEW.tenant_id AND statements.memory_id = NEW.memory_id;
    IF NEW.conversation IS NOT NULL AND coalesce(OLD.branch, NEW.branch) IS NOT NULL THEN
        UPDATE state.conversations SET channel = NEW.channel
        WHERE conversations.tenant_id = NEW.tenant_id AND conversations.owner = NEW.owner
          AND conversations.conversation = NEW.conversation AND conversations.channel = OLD.channel;
    END IF;
    RETURN NEW;
END
$$;
CALL mnemic.run_as_definer('mnemic.follow_channel()', 'mnemic_definer');

CREATE OR REPLACE TRIGGER follow_channel BEFORE UPDATE OF channel ON state.memories FOR EACH ROW
WHEN (OLD.channel IS DISTINCT FROM NEW.channel)
EXECUTE FUNCTION mnemic.follow_channel();
