-- Telling about memories, as in migration 0013; new ones wait to be compared from then on. There is no reference to the
-- memory: one that is gone by then is not found, and its row goes as well.
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
