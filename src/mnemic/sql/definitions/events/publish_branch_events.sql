-- Publishes that a channel was forked or merged, see events/memory_event_data.sql. Dropping publishes nothing: it leaves no trace.
CREATE OR REPLACE FUNCTION mnemic.publish_branch_events() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    INSERT INTO queue.event_inbox (tenant_id, owner, type, subject, data)
    SELECT tenant_id, owner, TG_ARGV[0], channel, jsonb_build_object('channel', channel, 'parent', parent)
    FROM changed_rows;
    IF FOUND THEN
        PERFORM mnemic.request_wakeup('events');
    END IF;
    RETURN NULL;
END
$$;
CALL mnemic.run_as_definer('mnemic.publish_branch_events()', 'mnemic_definer');

CREATE OR REPLACE TRIGGER publish_forked AFTER INSERT ON state.channel_branches REFERENCING NEW TABLE AS changed_rows
FOR EACH STATEMENT EXECUTE FUNCTION mnemic.publish_branch_events('channel.forked');

CREATE OR REPLACE TRIGGER publish_merged AFTER UPDATE ON state.channel_branches REFERENCING NEW TABLE AS changed_rows
FOR EACH STATEMENT EXECUTE FUNCTION mnemic.publish_branch_events('channel.merged');
