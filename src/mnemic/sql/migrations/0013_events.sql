-- Events: what happened to memories, entities, relations and state documents, for whoever follows it.
--
-- An event is written by a trigger, in the transaction that it tells about, into `queue.event_inbox`. From there
-- `mnemic.sequence_events` moves what is committed to `queue.events`, one mover of a tenant at a time, and
-- numbers it: 1, 2, 3 … within each tenant. Readers have it moved before they read, so nobody else is needed.
--
-- Why two steps. A number that the writer takes itself becomes visible when the writer commits, and a reader
-- that has seen 8 would never look for a 7 that comes late. Numbers given by one mover, which holds the
-- tenant's row in `queue.event_logs` until it commits, become visible in their order: none ever appears below
-- one that was seen. What was rolled back never gets a number, and a long transaction delays its own
-- events only. For one subject the order of events is that of its changes: whoever changes a row waits for
-- the one before to commit, so its entry in the inbox is younger, and is moved later or in the same step behind it.

-- There is no foreign key to state.tenants: the rows that the triggers are on have one, and thousands of
-- checks per second would buy nothing.
CREATE TABLE queue.event_inbox (
    tenant_id uuid NOT NULL,
    inbox_id bigint GENERATED ALWAYS AS IDENTITY,
    owner text NOT NULL,
    type text NOT NULL,
    subject text NOT NULL,
    data jsonb NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, inbox_id)
);
COMMENT ON TABLE queue.event_inbox IS 'Events that have no position yet; nobody reads them here.';
CALL mnemic.protect('queue.event_inbox', 'SELECT');
-- Only the triggers below write it, for a row that has just passed the policy of its own table. So nothing
-- is left to be checked here, and what an administrator writes, who proves no tenant, is told as well.
CREATE POLICY told_by_triggers ON queue.event_inbox FOR INSERT TO mnemic_definer WITH CHECK (true);

CREATE TABLE queue.events (
    tenant_id uuid NOT NULL,
    "position" bigint NOT NULL CHECK ("position" > 0),
    owner text NOT NULL,
    type text NOT NULL,
    subject text NOT NULL,
    data jsonb NOT NULL,
    at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, "position")
);
COMMENT ON TABLE queue.events IS 'What happened, in the order in which it is read.';
-- For erasing an owner, and for reading the events of one.
CREATE INDEX events_owner ON queue.events (tenant_id, owner, "position");
CALL mnemic.protect('queue.events', 'SELECT');

-- How far the numbering of each tenant is, and up to where events were dropped by retention. Whoever moves or
-- drops events holds this row.
CREATE TABLE queue.event_logs (
    tenant_id uuid PRIMARY KEY REFERENCES state.tenants,
    last_position bigint NOT NULL DEFAULT 0,
    dropped_position bigint NOT NULL DEFAULT 0,
    CONSTRAINT dropped_what_was_there CHECK (dropped_position BETWEEN 0 AND last_position)
);
COMMENT ON TABLE queue.event_logs IS 'The newest position of each tenant, and the newest one that is dropped.';
CALL mnemic.protect('queue.event_logs', 'SELECT');
GRANT UPDATE ON queue.event_logs TO mnemic_definer;

-- A consumer is a name with a place in the log. `reader` is the one that reads under this name now: the last
-- one that began. An earlier one finds itself replaced when it wants to move on.
CREATE TABLE queue.event_consumers (
    tenant_id uuid NOT NULL REFERENCES state.tenants,
    name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 256),
    owner text CHECK (char_length(owner) BETWEEN 1 AND 256),
    types text[],
    "position" bigint NOT NULL CHECK ("position" >= 0),
    reader uuid,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, name)
);
COMMENT ON TABLE queue.event_consumers IS 'Who follows events under a name, and up to where.';
CALL mnemic.protect('queue.event_consumers', 'SELECT, INSERT, DELETE');
GRANT UPDATE (types, "position", reader, updated_at) ON queue.event_consumers TO mnemic_app;

-- Gives committed events their positions, at most `most` of them and at most 10,000; returns how many. It only
-- sees the tenant that was proved, and tells nothing but a number. Its statements each see what was
-- committed before them, so the one behind the lock sees all that the mover before has done.
CREATE FUNCTION mnemic.sequence_events(most int) RETURNS bigint
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
    UPDATE queue.event_logs SET last_position = numbered + moved WHERE tenant_id = verified_tenant;
    RETURN moved;
END
$$;
CALL mnemic.seal('mnemic.sequence_events(int)');

-- Drops the tenant's events that are older than `keep_days` days, at most `most` of them, from the oldest on;
-- returns how many positions went. Needs a proof of maintenance: the log of what happened is not for SQL
-- that was smuggled into an ordinary transaction to shorten.
CREATE FUNCTION mnemic.drop_events(keep_days int, most int) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    verified_tenant uuid := mnemic.current_tenant();
    log queue.event_logs;
    first_kept bigint;
BEGIN
    IF (mnemic.verified('maintenance') = verified_tenant::text) IS NOT TRUE THEN
        RAISE insufficient_privilege USING MESSAGE = 'dropping events needs a proof of maintenance';
    END IF;
    IF keep_days IS NULL OR keep_days < 1 THEN
        RAISE invalid_parameter_value USING MESSAGE = 'events are kept for at least 1 day';
    END IF;
    -- What nobody ever read has no position yet, and must go all the same.
    PERFORM mnemic.sequence_events(most);
    SELECT * INTO log FROM queue.event_logs WHERE tenant_id = verified_tenant FOR UPDATE;
    IF NOT FOUND THEN
        RETURN 0;
    END IF;
    SELECT min(young."position") INTO first_kept
    FROM (
        SELECT "position" FROM queue.events
        WHERE tenant_id = verified_tenant AND "position" <= log.dropped_position + most
          AND at >= now() - make_interval(days => keep_days)
        ORDER BY "position" LIMIT 1
    ) AS young;
    first_kept := coalesce(first_kept, least(log.dropped_position + most, log.last_position) + 1);
    DELETE FROM queue.events WHERE tenant_id = verified_tenant AND "position" < first_kept;
    UPDATE queue.event_logs SET dropped_position = first_kept - 1 WHERE tenant_id = verified_tenant;
    RETURN first_kept - 1 - log.dropped_position;
END
$$;
CALL mnemic.seal('mnemic.drop_events(int, int)');

-- The triggers. Their functions run as mnemic_definer, since the application itself writes no events: it
-- could make up what never happened. They tell once per statement, however many rows it wrote; each trigger
-- names its rows `told` and passes the type of event on. Only changes of memories are told row by row, and
-- only where the version moved: counting their use, which goes on all the time, tells nobody anything.
-- `data` holds no content: events are read by, and sent to, those who need not see it.
--
-- Erasing an owner must leave no event that names it. So what is deleted in a transaction that proves
-- maintenance is not told; nothing but erasing deletes in one.

CREATE FUNCTION mnemic.memory_told(channel text, category text, conversation text, version int, status text)
RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
RETURN jsonb_build_object(
    'channel', channel, 'category', category, 'conversation', conversation, 'version', version, 'status', status
);

CREATE FUNCTION mnemic.tell_memories() RETURNS trigger
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
    END IF;
    RETURN NULL;
END
$$;
CALL mnemic.seal('mnemic.tell_memories()', 'mnemic_definer');
CREATE TRIGGER tell_created AFTER INSERT ON state.memories REFERENCING NEW TABLE AS told
FOR EACH STATEMENT EXECUTE FUNCTION mnemic.tell_memories('memory.created');
CREATE TRIGGER tell_deleted AFTER DELETE ON state.memories REFERENCING OLD TABLE AS told
FOR EACH STATEMENT EXECUTE FUNCTION mnemic.tell_memories('memory.deleted');

CREATE FUNCTION mnemic.tell_changed_memory() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    INSERT INTO queue.event_inbox (tenant_id, owner, type, subject, data)
    VALUES (
        NEW.tenant_id, NEW.owner,
        CASE
            WHEN (OLD.deleted_at IS NULL) = (NEW.deleted_at IS NULL) THEN 'memory.changed'
            WHEN NEW.deleted_at IS NULL THEN 'memory.restored'
            ELSE 'memory.forgotten'
        END,
        NEW.memory_id,
        mnemic.memory_told(NEW.channel, NEW.category, NEW.conversation, NEW.version, NEW.status)
    );
    PERFORM mnemic.hint('events');
    RETURN NULL;
END
$$;
CALL mnemic.seal('mnemic.tell_changed_memory()', 'mnemic_definer');
CREATE TRIGGER tell_changed AFTER UPDATE ON state.memories FOR EACH ROW
WHEN (OLD.version <> NEW.version)
EXECUTE FUNCTION mnemic.tell_changed_memory();

CREATE FUNCTION mnemic.tell_entities() RETURNS trigger
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
CREATE TRIGGER tell_created AFTER INSERT ON state.entities REFERENCING NEW TABLE AS told
FOR EACH STATEMENT EXECUTE FUNCTION mnemic.tell_entities('entity.created');
CREATE TRIGGER tell_changed AFTER UPDATE ON state.entities REFERENCING NEW TABLE AS told
FOR EACH STATEMENT EXECUTE FUNCTION mnemic.tell_entities('entity.changed');
CREATE TRIGGER tell_deleted AFTER DELETE ON state.entities REFERENCING OLD TABLE AS told
FOR EACH STATEMENT EXECUTE FUNCTION mnemic.tell_entities('entity.deleted');

-- A relation has no id of its own: its events are about the entity that it leads away from.
CREATE FUNCTION mnemic.tell_relations() RETURNS trigger
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
CREATE TRIGGER tell_created AFTER INSERT ON state.entity_relations REFERENCING NEW TABLE AS told
FOR EACH STATEMENT EXECUTE FUNCTION mnemic.tell_relations('relation.created');
CREATE TRIGGER tell_changed AFTER UPDATE ON state.entity_relations REFERENCING NEW TABLE AS told
FOR EACH STATEMENT EXECUTE FUNCTION mnemic.tell_relations('relation.changed');
CREATE TRIGGER tell_deleted AFTER DELETE ON state.entity_relations REFERENCING OLD TABLE AS told
FOR EACH STATEMENT EXECUTE FUNCTION mnemic.tell_relations('relation.deleted');

CREATE FUNCTION mnemic.tell_state_documents() RETURNS trigger
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
CREATE TRIGGER tell_created AFTER INSERT ON state.state_documents REFERENCING NEW TABLE AS told
FOR EACH STATEMENT EXECUTE FUNCTION mnemic.tell_state_documents('state.created');
CREATE TRIGGER tell_changed AFTER UPDATE ON state.state_documents REFERENCING NEW TABLE AS told
FOR EACH STATEMENT EXECUTE FUNCTION mnemic.tell_state_documents('state.changed');
CREATE TRIGGER tell_deleted AFTER DELETE ON state.state_documents REFERENCING OLD TABLE AS told
FOR EACH STATEMENT EXECUTE FUNCTION mnemic.tell_state_documents('state.deleted');
