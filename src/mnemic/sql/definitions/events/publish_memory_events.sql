-- Publishes events about new and deleted memories, and queues new ones for deduplication. The backlog has no
-- foreign key to the memory: if the memory is deleted first, deduplication does not find it and removes the row.
CREATE OR REPLACE FUNCTION mnemic.publish_memory_events() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF TG_OP = 'DELETE' AND mnemic.verified_claim('maintenance') IS NOT NULL THEN
        RETURN NULL;
    END IF;
    INSERT INTO queue.event_inbox (tenant_id, owner, type, subject, data)
    SELECT tenant_id, owner, TG_ARGV[0], memory_id,
        mnemic.memory_event_data(channel, category, conversation, version, status)
    FROM changed_rows;
    IF FOUND THEN
        PERFORM mnemic.request_wakeup('events');
        IF TG_OP = 'INSERT' THEN
            INSERT INTO queue.deduplication_backlog (tenant_id, owner, memory_id)
            SELECT tenant_id, owner, memory_id FROM changed_rows
            ON CONFLICT DO NOTHING;
        END IF;
    END IF;
    RETURN NULL;
END
$$;
CALL mnemic.run_as_definer('mnemic.publish_memory_events()', 'mnemic_definer');

CREATE OR REPLACE TRIGGER publish_created AFTER INSERT ON state.memories REFERENCING NEW TABLE AS changed_rows
FOR EACH STATEMENT EXECUTE FUNCTION mnemic.publish_memory_events('memory.created');

CREATE OR REPLACE TRIGGER publish_deleted AFTER DELETE ON state.memories REFERENCING OLD TABLE AS changed_rows
FOR EACH STATEMENT EXECUTE FUNCTION mnemic.publish_memory_events('memory.deleted');
