-- @@
CREATE OR REPLACE FUNCTION mnemic.tell_entities() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF TG_OP = 'DELETE' AND mnemic.verified('maintenance') IS NOT NULL THEN
        RETURN NULL;
    END IF;
    INSERT INTO queue.event_inbox (tenant_id, owner, type, subject, data)
    SELECT tenant_id, owner, TG_ARGV[0], entity_id,
        jsonb_build_object('category', category, 'name', name, 'version', version)
    FROM told;
    IF FOUND THEN
        PERFORM mnemic.hint('events');
    END IF;
    RETURN NULL;
END
$$;
CALL mnemic.seal('mnemic.tell_entities()', 'mnemic_definer');

CREATE OR REPLACE TRIGGER tell_created AFTER INSERT ON state.entities REFERENCING NEW TABLE AS told
FOR EACH STATEMENT EXECUTE FUNCTION mnemic.tell_entities('entity.created');

CREATE OR REPLACE TRIGGER tell_changed AFTER UPDATE ON state.entities REFERENCING NEW TABLE AS told
FOR EACH STATEMENT EXECUTE FUNCTION mnemic.tell_entities('entity.changed');

CREATE OR REPLACE TRIGGER tell_deleted AFTER DELETE ON state.entities REFERENCING OLD TABLE AS told
FOR EACH STATEMENT EXECUTE FUNCTION mnemic.tell_entities('entity.deleted');
