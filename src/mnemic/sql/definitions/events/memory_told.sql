-- The triggers. Their functions run as mnemic_definer, since the application itself writes no events: it
-- could make up what never happened. They tell once per statement, however many rows it wrote; each trigger
-- names its rows `told` and passes the type of event on. Only changes of memories are told row by row, and
-- only where the version moved: counting their use, which goes on all the time, tells nobody anything.
-- `data` holds no content: events are read by, and sent to, those who need not see it.
--
-- Erasing an owner must leave no event that names it. So what is deleted in a transaction that proves
-- maintenance is not told; nothing but erasing deletes in one.
CREATE OR REPLACE FUNCTION mnemic.memory_told(channel text, category text, conversation text, version int, status text)
RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
RETURN jsonb_build_object(
    'channel', channel, 'category', category, 'conversation', conversation, 'version', version, 'status', status
);
