-- The queries behind `retain`. All of one call run in one transaction; only `known` runs before it.

-- name: known
-- Which of these items an owner has already, by external id or by content, before the costly part
-- (embedding) begins. The hashes come as hexadecimal digits with blanks between them: the driver takes long for
-- an array of bytes. A row per known item; `forgotten_at` is set where it was forgotten since. LATERAL
-- and LIMIT make it one look into an index per item, whatever the planner believes about the table; IS TRUE
-- keeps it from indexes that know the owner and not the item.
SELECT wanted.index, known.memory_id, known.deleted_at AS forgotten_at
FROM unnest(%(external_indexes)s::int[], %(external_ids)s::text[]) AS wanted (index, external_id)
CROSS JOIN LATERAL (
    SELECT memory_id, deleted_at FROM state.memories
    WHERE memories.external_id = wanted.external_id AND (owner = %(owner)s) IS TRUE AND coalesce(chunk_index, 0) = 0
    OFFSET 0
) AS known
UNION ALL
SELECT wanted.index, known.memory_id, NULL
FROM unnest(%(hash_indexes)s::int[], string_to_array(%(hashes)s, ' ')) AS wanted (index, content_hash)
CROSS JOIN LATERAL (
    SELECT memory_id FROM state.memories
    WHERE memories.content_hash = decode(wanted.content_hash, 'hex') AND (owner = %(owner)s) IS TRUE
      AND status = 'active' AND deleted_at IS NULL AND coalesce(chunk_index, 0) = 0
    OFFSET 0
) AS known

-- name: wait_longer
-- A call with many items may have to wait for another one, longer than any statement should take.
SET LOCAL statement_timeout = '1h'

-- name: take_turns
-- Waits until no other call with many items writes for this owner; others then wait for this one.
SELECT pg_advisory_xact_lock(hashtextextended(
    'mnemic.retain ' || mnemic.current_tenant() || ' ' || %(owner)s::text, 0
))

-- name: wait_as_usual
-- From here on a statement may take as long as every other one.
SET LOCAL statement_timeout TO DEFAULT

-- name: open_conversations
-- Makes conversations that are new and reserves places for turns; returns each one's first free place.
INSERT INTO state.conversations AS kept (tenant_id, owner, conversation, channel, turn_count, started_at, last_turn_at)
SELECT %(tenant_id)s, %(owner)s, given.conversation, %(channel)s, given.turns,
    coalesce(given.first_at, now()), coalesce(given.last_at, now())
FROM unnest(%(conversations)s::text[], %(turns)s::int[], %(first_ats)s::timestamptz[], %(last_ats)s::timestamptz[])
    AS given (conversation, turns, first_at, last_at)
ORDER BY given.conversation
ON CONFLICT (tenant_id, owner, conversation) DO UPDATE
SET turn_count = kept.turn_count + excluded.turn_count,
    started_at = least(kept.started_at, excluded.started_at),
    last_turn_at = greatest(kept.last_turn_at, excluded.last_turn_at)
RETURNING conversation, turn_count AS next_place

-- name: give_back_places
-- Takes back places that were reserved and not needed.
UPDATE state.conversations
SET turn_count = turn_count - unused
FROM unnest(%(conversations)s::text[], %(unused)s::int[]) AS given (conversation, unused)
WHERE conversations.owner = %(owner)s AND conversations.conversation = given.conversation

-- name: store
-- Stores a batch: its rows, given as JSON, and their vectors. One row with the ids of the rows that were new (the others
-- are duplicates), and whether the owner has entities that they may mention. The latter comes last, as `mentions.share`
-- should: from then on new names wait until the transaction ends.
SELECT stored.memory_ids, mnemic.lock_mentions_shared(%(owner)s) AS has_names
FROM mnemic.store_memories(
    %(tenant_id)s, %(owner)s, %(channel)s, %(process)s,
    %(firsts)s::json, %(others)s::json, 0, %(places)s::int[], %(other_places)s::int[],
    %(model)s, %(ids)s::uuid[], %(vectors)s::halfvec[]
) AS stored (memory_ids)

-- name: alone
-- A whole call of one batch, its row in the memory log included, but for its vectors (see `with_vectors` in
-- mnemic/db/vectors.py). In a transaction of its own, for which it is signed. Returns whether it was stored, or why it
-- was not (see migration 0026).
SELECT mnemic.retain_in_one_statement(
    entered.tenant_id, %(owner)s, %(channel)s, %(process)s,
    %(firsts)s::json, %(others)s::json, %(places)s::int[], %(other_places)s::int[], %(row_count)s,
    %(model)s, %(dimensions)s, %(vector_table)s,
    %(conversation)s, %(turns)s, %(first_at)s::timestamptz, %(last_at)s::timestamptz,
    %(is_logged)s,
    ROW(
        entered.tenant_id, mnemic.new_id(), clock_timestamp(), %(owner)s, %(channel)s, %(process)s,
        %(logged_conversation)s, %(operation)s, %(memory_count)s, %(duration_ms)s, %(detail)s
    )::traces.memory_log
) AS outcome
FROM mnemic.authenticate_tenant(%(tenant_id)s, %(signature)s::text) AS entered (tenant_id)

-- name: reinforce
-- Counts a duplicate as reinforcement of the memory that was there first. The rows are locked in one
-- order, so that two calls with the same duplicates wait for each other and not in a circle.
WITH again AS MATERIALIZED (
    SELECT memories.memory_id, times
    FROM state.memories
    JOIN unnest(%(ids)s::uuid[], %(times)s::int[]) AS given (memory_id, times) USING (memory_id)
    ORDER BY memories.memory_id
    FOR NO KEY UPDATE OF memories
)
UPDATE state.memories
SET reinforcement_count = reinforcement_count + times,
    salience = least(1, salience + (1 - salience) * 0.1 * times)
FROM again
WHERE memories.memory_id = again.memory_id

-- name: existing_evidence
-- Which of these ids are memories of this owner.
SELECT memory_id FROM state.memories WHERE memory_id = ANY(%(ids)s::uuid[]) AND owner = %(owner)s

-- name: derive
-- Links memories to the ones they were derived from.
INSERT INTO state.memory_relationships (tenant_id, from_id, to_id, kind, process)
SELECT %(tenant_id)s, from_id, to_id, 'derived_from', %(process)s
FROM unnest(%(from_ids)s::uuid[], %(to_ids)s::uuid[]) AS pair (from_id, to_id)
ON CONFLICT DO NOTHING
