-- Publishes events about entities, see events/memory_event_data.sql.
CREATE OR REPLACE FUNCTION mnemic.publish_entity_events() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF TG_OP = 'DELETE' AND mnemic.verified_claim('maintenance') IS NOT NULL THEN
        RETURN NULL;
    END IF;
    INSERT INTO queue.event_inbox (tenant_id, owner, type, subject, data)
    SELECT tenant_id, owner, TG_ARGV[0], entity_id,
        jsonb_build_object('category', category, 'name', name, 'version', version)
    FROM changed_rows;
    IF FOUND THEN
        PERFORM mnemic.request_wakeup('events');
    END IF;
    RETURN NULL;
END
$$;
CALL mnemic.run_as_definer('mnemic.publish_entity_events()', 'mnemic_definer');

CREATE OR REPLACE TRIGGER publish_created AFTER INSERT ON state.entities REFERENCING NEW TABLE AS changed_rows
FOR EACH STATEMENT EXECUTE FUNCTION mnemic.publish_entity_events('entity.created');

CREATE OR REPLACE TRIGGER publish_changed AFTER UPDATE ON state.entities REFERENCING NEW TABLE AS changed_rows
FOR EACH STATEMENT EXECUTE FUNCTION mnemic.publish_entity_events('entity.changed');

CREATE OR REPLACE TRIGGER publish_deleted AFTER DELETE ON state.entities REFERENCING OLD TABLE AS changed_rows
FOR EACH STATEMENT EXECUTE FUNCTION mnemic.publish_entity_events('entity.deleted');
