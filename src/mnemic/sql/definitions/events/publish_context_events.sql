-- Publishes events about sessions whose context is paged, see events/memory_event_data.sql. Each request of an agent saves
-- its session once, so it publishes one event.
CREATE OR REPLACE FUNCTION mnemic.publish_context_events() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF TG_OP = 'DELETE' AND mnemic.verified_claim('maintenance') IS NOT NULL THEN
        RETURN NULL;
    END IF;
    INSERT INTO queue.event_inbox (tenant_id, owner, type, subject, data)
    SELECT
        tenant_id, owner, TG_ARGV[0], session,
        jsonb_build_object('call_count', call_count, 'epoch', epoch, 'tokens', tokens, 'zone', zone)
    FROM changed_rows;
    IF FOUND THEN
        PERFORM mnemic.request_wakeup('events');
    END IF;
    RETURN NULL;
END
$$;
CALL mnemic.run_as_definer('mnemic.publish_context_events()', 'mnemic_definer');

CREATE OR REPLACE TRIGGER publish_created AFTER INSERT ON state.context_sessions REFERENCING NEW TABLE AS changed_rows
FOR EACH STATEMENT EXECUTE FUNCTION mnemic.publish_context_events('context.created');

CREATE OR REPLACE TRIGGER publish_changed AFTER UPDATE ON state.context_sessions REFERENCING NEW TABLE AS changed_rows
FOR EACH STATEMENT EXECUTE FUNCTION mnemic.publish_context_events('context.changed');

CREATE OR REPLACE TRIGGER publish_deleted AFTER DELETE ON state.context_sessions REFERENCING OLD TABLE AS changed_rows
FOR EACH STATEMENT EXECUTE FUNCTION mnemic.publish_context_events('context.deleted');
