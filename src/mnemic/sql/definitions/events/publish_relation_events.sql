-- Publishes events about relations. A relation has no id of its own: the subject of its events is the entity that
-- it starts from.
CREATE OR REPLACE FUNCTION mnemic.publish_relation_events() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF TG_OP = 'DELETE' AND mnemic.verified_claim('maintenance') IS NOT NULL THEN
        RETURN NULL;
    END IF;
    INSERT INTO queue.event_inbox (tenant_id, owner, type, subject, data)
    SELECT tenant_id, owner, TG_ARGV[0], from_id,
        jsonb_build_object('from_id', from_id, 'to_id', to_id, 'kind', kind)
    FROM changed_rows;
    IF FOUND THEN
        PERFORM mnemic.request_wakeup('events');
    END IF;
    RETURN NULL;
END
$$;
CALL mnemic.run_as_definer('mnemic.publish_relation_events()', 'mnemic_definer');

CREATE OR REPLACE TRIGGER publish_created AFTER INSERT ON state.entity_relations REFERENCING NEW TABLE AS changed_rows
FOR EACH STATEMENT EXECUTE FUNCTION mnemic.publish_relation_events('relation.created');

CREATE OR REPLACE TRIGGER publish_changed AFTER UPDATE ON state.entity_relations REFERENCING NEW TABLE AS changed_rows
FOR EACH STATEMENT EXECUTE FUNCTION mnemic.publish_relation_events('relation.changed');

CREATE OR REPLACE TRIGGER publish_deleted AFTER DELETE ON state.entity_relations REFERENCING OLD TABLE AS changed_rows
FOR EACH STATEMENT EXECUTE FUNCTION mnemic.publish_relation_events('relation.deleted');
