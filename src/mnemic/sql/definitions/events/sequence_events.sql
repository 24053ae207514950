-- Moves committed events from the inbox to the log and gives them their positions, at most `most` and at most
-- 10,000; returns how many. It handles only the verified tenant. Each statement sees what was committed before it
-- began, so the statement after the lock sees everything that the previous mover has done.
-- It also notes the last event of each owner in traces.owner_counts: writers of memories never touch that table.
CREATE OR REPLACE FUNCTION mnemic.sequence_events(most int) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    verified_tenant uuid := mnemic.current_tenant();
    numbered bigint;
    moved bigint;
BEGIN
    -- The usual case: nothing new.
    PERFORM FROM queue.event_inbox WHERE tenant_id = verified_tenant LIMIT 1;
    IF NOT FOUND THEN
        RETURN 0;
    END IF;
    INSERT INTO queue.event_logs (tenant_id) VALUES (verified_tenant) ON CONFLICT DO NOTHING;
    SELECT last_position INTO numbered FROM queue.event_logs WHERE tenant_id = verified_tenant FOR UPDATE;
    WITH moving AS (
        DELETE FROM queue.event_inbox
        WHERE tenant_id = verified_tenant AND inbox_id = ANY (ARRAY(
            SELECT waiting.inbox_id FROM queue.event_inbox AS waiting
            WHERE waiting.tenant_id = verified_tenant
            ORDER BY waiting.inbox_id
            LIMIT least(most, 10000)
        ))
        RETURNING *
    )
    INSERT INTO queue.events (tenant_id, "position", owner, type, subject, data, at)
    SELECT tenant_id, numbered + row_number() OVER (ORDER BY inbox_id), owner, type, subject, data, at
    FROM moving;
    GET DIAGNOSTICS moved = ROW_COUNT;
    -- In the order of names, as mnemic's other writers of that table, to avoid deadlocks.
    INSERT INTO traces.owner_counts AS noted (tenant_id, owner, last_activity_at, changed_position)
    SELECT verified_tenant, events.owner, max(events.at), max(events."position")
    FROM queue.events
    WHERE events.tenant_id = verified_tenant AND events."position" > numbered
    GROUP BY events.owner
    ORDER BY events.owner COLLATE "C"
    ON CONFLICT (tenant_id, owner) DO UPDATE
    SET last_activity_at = greatest(noted.last_activity_at, EXCLUDED.last_activity_at),
        changed_position = EXCLUDED.changed_position;
    UPDATE queue.event_logs SET last_position = numbered + moved WHERE tenant_id = verified_tenant;
    RETURN moved;
END
$$;
CALL mnemic.run_as_definer('mnemic.sequence_events(int)');
