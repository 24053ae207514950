-- Telling about memories, as in migration 0013; new ones wait to be compared from then on. There is no reference to the
-- memory: one that is gone by then is not found, and its row goes as well.
CREATE OR REPLACE FUNCTION mnemic.tell_memories() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF TG_OP = 'DELETE' AND mnemic.verified('maintenance') IS NOT NULL THEN
        RETURN NULL;
    END IF;
    INSERT INTO queue.event_inbox (tenant_id, owner, type, subject, data)
    SELECT tenant_id, owner, TG_ARGV[0], memory_id,
        mnemic.memory_told(channel, category, conversation, version, status)
    FROM told;
    IF FOUND THEN
        PERFORM mnemic.hint('events');
        IF TG_OP = 'INSERT' THEN
            INSERT INTO queue.uncompared (tenant_id, owner, memory_id)
            SELECT tenant_id, owner, memory_id FROM told
            ON CONFLICT DO NOTHING;
        END IF;
    END IF;
    RETURN NULL;
END
$$;
CALL mnemic.seal('mnemic.tell_memories()', 'mnemic_definer');

CREATE OR REPLACE TRIGGER tell_created AFTER INSERT ON state.memories REFERENCING NEW TABLE AS told
FOR EACH STATEMENT EXECUTE FUNCTION mnemic.tell_memories('memory.created');

CREATE OR REPLACE TRIGGER tell_deleted AFTER DELETE ON state.memories REFERENCING OLD TABLE AS told
FOR EACH STATEMENT EXECUTE FUNCTION mnemic.tell_memories('memory.deleted');
