-- A relation has no id of its own: its events are about the entity that it leads away from.
CREATE OR REPLACE FUNCTION mnemic.tell_relations() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF TG_OP = 'DELETE' AND mnemic.verified('maintenance') IS NOT NULL THEN
        RETURN NULL;
    END IF;
    INSERT INTO queue.event_inbox (tenant_id, owner, type, subject, data)
    SELECT tenant_id, owner, TG_ARGV[0], from_id,
        jsonb_build_object('from_id', from_id, 'to_id', to_id, 'kind', kind)
    FROM told;
    IF FOUND THEN
        PERFORM mnemic.hint('events');
    END IF;
    RETURN NULL;
END
$$;
CALL mnemic.seal('mnemic.tell_relations()', 'mnemic_definer');

CREATE OR REPLACE TRIGGER tell_created AFTER INSERT ON state.entity_relations REFERENCING NEW TABLE AS told
FOR EACH STATEMENT EXECUTE FUNCTION mnemic.tell_relations('relation.created');

CREATE OR REPLACE TRIGGER tell_changed AFTER UPDATE ON state.entity_relations REFERENCING NEW TABLE AS told
FOR EACH STATEMENT EXECUTE FUNCTION mnemic.tell_relations('relation.changed');

CREATE OR REPLACE TRIGGER tell_deleted AFTER DELETE ON state.entity_relations REFERENCING OLD TABLE AS told
FOR EACH STATEMENT EXECUTE FUNCTION mnemic.tell_relations('relation.deleted');
