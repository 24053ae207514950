-- Publishes that a changeset was staged, applied, rejected or undone, see events/memory_event_data.sql. The changed memories
-- have events of their own.
CREATE OR REPLACE FUNCTION mnemic.publish_changeset_event() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    INSERT INTO queue.event_inbox (tenant_id, owner, type, subject, data)
    VALUES (
        NEW.tenant_id, NEW.owner, TG_ARGV[0], NEW.changeset_id,
        jsonb_build_object('purpose', NEW.purpose, 'state', NEW.state)
    );
    PERFORM mnemic.request_wakeup('events');
    RETURN NULL;
END
$$;
CALL mnemic.run_as_definer('mnemic.publish_changeset_event()', 'mnemic_definer');

CREATE OR REPLACE TRIGGER publish_staged AFTER INSERT ON state.changesets FOR EACH ROW
WHEN (NEW.state = 'staged')
EXECUTE FUNCTION mnemic.publish_changeset_event('changeset.staged');

CREATE OR REPLACE TRIGGER publish_applied AFTER UPDATE ON state.changesets FOR EACH ROW
WHEN (OLD.state <> NEW.state AND NEW.state = 'applied')
EXECUTE FUNCTION mnemic.publish_changeset_event('changeset.applied');

CREATE OR REPLACE TRIGGER publish_rejected AFTER UPDATE ON state.changesets FOR EACH ROW
WHEN (OLD.state <> NEW.state AND NEW.state = 'rejected')
EXECUTE FUNCTION mnemic.publish_changeset_event('changeset.rejected');

CREATE OR REPLACE TRIGGER publish_undone AFTER UPDATE ON state.changesets FOR EACH ROW
WHEN (OLD.state <> NEW.state AND NEW.state = 'undone')
EXECUTE FUNCTION mnemic.publish_changeset_event('changeset.undone');
