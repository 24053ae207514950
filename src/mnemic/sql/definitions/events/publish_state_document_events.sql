-- Publishes events about state documents, see events/memory_event_data.sql.
CREATE OR REPLACE FUNCTION mnemic.publish_state_document_events() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF TG_OP = 'DELETE' AND mnemic.verified_claim('maintenance') IS NOT NULL THEN
        RETURN NULL;
    END IF;
    INSERT INTO queue.event_inbox (tenant_id, owner, type, subject, data)
    SELECT tenant_id, owner, TG_ARGV[0], key, jsonb_build_object('key', key, 'version', version)
    FROM changed_rows;
    IF FOUND THEN
        PERFORM mnemic.request_wakeup('events');
    END IF;
    RETURN NULL;
END
$$;
CALL mnemic.run_as_definer('mnemic.publish_state_document_events()', 'mnemic_definer');

CREATE OR REPLACE TRIGGER publish_created AFTER INSERT ON state.state_documents REFERENCING NEW TABLE AS changed_rows
FOR EACH STATEMENT EXECUTE FUNCTION mnemic.publish_state_document_events('state.created');

CREATE OR REPLACE TRIGGER publish_changed AFTER UPDATE ON state.state_documents REFERENCING NEW TABLE AS changed_rows
FOR EACH STATEMENT EXECUTE FUNCTION mnemic.publish_state_document_events('state.changed');

CREATE OR REPLACE TRIGGER publish_deleted AFTER DELETE ON state.state_documents REFERENCING OLD TABLE AS changed_rows
FOR EACH STATEMENT EXECUTE FUNCTION mnemic.publish_state_document_events('state.deleted');
