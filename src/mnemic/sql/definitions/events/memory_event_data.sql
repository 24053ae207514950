-- The `data` of a memory event. It holds no content: consumers and webhooks need not be allowed to read the
-- memory.
--
-- How events are published: the trigger functions run as mnemic_definer, since the application itself may not
-- insert events (it could invent some). A statement publishes all its rows at once; each trigger names its rows
-- `changed_rows` and passes the event type as argument. Only changes of memories are published row by row, and
-- only if the version changed: usage counters change all the time and publish nothing.
--
-- Erasing an owner must leave no event that names it. So deletions in a transaction that proves maintenance
-- publish nothing; only erasure deletes in such a transaction.
CREATE OR REPLACE FUNCTION mnemic.memory_event_data(channel text, category text, conversation text, version int, status text)
RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
RETURN jsonb_build_object(
    'channel', channel, 'category', category, 'conversation', conversation, 'version', version, 'status', status
);
