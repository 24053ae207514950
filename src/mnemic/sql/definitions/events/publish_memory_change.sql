-- Publishes a change of a memory: one event per row.
CREATE OR REPLACE FUNCTION mnemic.publish_memory_change() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    INSERT INTO queue.event_inbox (tenant_id, owner, type, subject, data)
    VALUES (
        NEW.tenant_id, NEW.owner,
        CASE
            WHEN (OLD.deleted_at IS NULL) = (NEW.deleted_at IS NULL) THEN 'memory.changed'
            WHEN NEW.deleted_at IS NULL THEN 'memory.restored'
            ELSE 'memory.forgotten'
        END,
        NEW.memory_id,
        mnemic.memory_event_data(NEW.channel, NEW.category, NEW.conversation, NEW.version, NEW.status)
    );
    PERFORM mnemic.request_wakeup('events');
    RETURN NULL;
END
$$;
CALL mnemic.run_as_definer('mnemic.publish_memory_change()', 'mnemic_definer');

CREATE OR REPLACE TRIGGER publish_changed AFTER UPDATE ON state.memories FOR EACH ROW
WHEN (OLD.version <> NEW.version)
EXECUTE FUNCTION mnemic.publish_memory_change();
