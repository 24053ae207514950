-- @@
CREATE OR REPLACE FUNCTION mnemic.tell_state_documents() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF TG_OP = 'DELETE' AND mnemic.verified('maintenance') IS NOT NULL THEN
        RETURN NULL;
    END IF;
    INSERT INTO queue.event_inbox (tenant_id, owner, type, subject, data)
    SELECT tenant_id, owner, TG_ARGV[0], key, jsonb_build_object('key', key, 'version', version)
    FROM told;
    IF FOUND THEN
        PERFORM mnemic.hint('events');
    END IF;
    RETURN NULL;
END
$$;
CALL mnemic.seal('mnemic.tell_state_documents()', 'mnemic_definer');

CREATE OR REPLACE TRIGGER tell_created AFTER INSERT ON state.state_documents REFERENCING NEW TABLE AS told
FOR EACH STATEMENT EXECUTE FUNCTION mnemic.tell_state_documents('state.created');

CREATE OR REPLACE TRIGGER tell_changed AFTER UPDATE ON state.state_documents REFERENCING NEW TABLE AS told
FOR EACH STATEMENT EXECUTE FUNCTION mnemic.tell_state_documents('state.changed');

CREATE OR REPLACE TRIGGER tell_deleted AFTER DELETE ON state.state_documents REFERENCING OLD TABLE AS told
FOR EACH STATEMENT EXECUTE FUNCTION mnemic.tell_state_documents('state.deleted');
