-- The queries of the write path. All of one call run in one transaction; only `known` also runs before it.

-- name: known
-- Which of these items an owner has already, before the costly part (embedding) begins; see mnemic.known_memories.
SELECT known.index, known.memory_id, known.forgotten_at
FROM (SELECT mnemic.branch_of(%(tenant_id)s, %(owner)s, %(channel)s) AS branch OFFSET 0) AS place
CROSS JOIN LATERAL mnemic.known_memories(
    %(tenant_id)s, %(owner)s, %(external_indexes)s::int[], %(external_ids)s::text[], %(hash_indexes)s::int[], %(hashes)s,
    place.branch
) AS known

-- name: lock_owner
-- Waits until no other call of several batches writes for this owner; such calls then wait for this one.
SELECT pg_advisory_xact_lock(hashtextextended(
    'mnemic.retain ' || mnemic.current_tenant() || ' ' || %(owner)s::text, 0
))

-- name: reserve_positions
-- Creates or extends conversations; returns for each the position of its first new turn. The rows are locked in the
-- order of the parameters, which is sorted to avoid deadlocks.
SELECT
    given.conversation,
    mnemic.reserve_positions(
        %(tenant_id)s, %(owner)s, %(channel)s, given.conversation, given.turns, given.first_at, given.last_at
    ) AS first_position
FROM unnest(%(conversations)s::text[], %(turns)s::int[], %(first_ats)s::timestamptz[], %(last_ats)s::timestamptz[])
    AS given (conversation, turns, first_at, last_at)

-- name: release_positions
-- Releases the last positions of conversations, which no turn has taken.
UPDATE state.conversations
SET turn_count = turn_count - unused
FROM unnest(%(conversations)s::text[], %(unused)s::int[]) AS given (conversation, unused)
WHERE conversations.tenant_id = %(tenant_id)s
  AND conversations.owner = %(owner)s AND conversations.conversation = given.conversation

-- name: store
-- Stores the memories of a batch; `with_vectors` in mnemic/db/vectors.py adds their vectors. One row: the ids of the new
-- memories, and whether the owner has entities that they may mention. The latter is last, as `mentions.lock_shared` should be:
-- from then on new entities wait until the transaction ends.
SELECT stored.memory_ids, mnemic.lock_mentions_shared(%(owner)s) AS has_names
FROM mnemic.store_memories(
    %(tenant_id)s, %(owner)s, %(channel)s, %(process)s,
    %(firsts)s::json, %(others)s::json, 0, %(positions)s::int[], %(other_positions)s::int[], %(is_changing_model)s
) AS stored (memory_ids)

-- name: one_statement
-- Writes a whole call of one batch, including its row of the memory log; `with_vectors` adds the vectors. It is a
-- transaction by itself, and signed. `memory_ids` is NULL if nothing was stored (see mnemic.retain_in_one_statement).
SELECT written.*
FROM mnemic.authenticate_tenant(%(tenant_id)s, %(signature)s::text) AS entered (tenant_id)
CROSS JOIN LATERAL mnemic.retain_in_one_statement(
    entered.tenant_id, %(owner)s, %(channel)s, %(process)s,
    %(firsts)s::json, %(others)s::json, %(positions)s::int[], %(other_positions)s::int[], %(row_count)s,
    %(model)s, %(dimensions)s, %(vector_table)s,
    %(conversation)s, %(turns)s, %(first_at)s::timestamptz, %(last_at)s::timestamptz,
    %(is_logged)s,
    ROW(
        entered.tenant_id, mnemic.new_id(), clock_timestamp(), %(owner)s, %(channel)s, %(process)s,
        %(logged_conversation)s, %(operation)s, %(memory_count)s, %(duration_ms)s, %(detail)s
    )::traces.memory_log
) AS written

-- name: reinforce
-- Counts a duplicate as reinforcement of the memory that was stored first. The rows are locked in a fixed order to avoid
-- deadlocks.
WITH again AS MATERIALIZED (
    SELECT memories.memory_id, times
    FROM state.memories
    JOIN unnest(%(ids)s::uuid[], %(times)s::int[]) AS given (memory_id, times) USING (memory_id)
    WHERE memories.tenant_id = %(tenant_id)s ORDER BY memories.memory_id
    FOR NO KEY UPDATE OF memories
)
UPDATE state.memories
SET reinforcement_count = reinforcement_count + times,
    salience = least(1, salience + (1 - salience) * 0.1 * times)
FROM again
WHERE memories.tenant_id = %(tenant_id)s AND memories.memory_id = again.memory_id

-- name: existing_evidence
-- Which of these ids are memories of this owner.
SELECT memory_id FROM state.memories
WHERE tenant_id = %(tenant_id)s AND memory_id = ANY(%(ids)s::uuid[]) AND owner = %(owner)s

-- name: link_evidence
-- Links memories to the ones they were derived from.
INSERT INTO state.memory_relationships (tenant_id, from_id, to_id, kind, process)
SELECT %(tenant_id)s, from_id, to_id, 'derived_from', %(process)s
FROM unnest(%(from_ids)s::uuid[], %(to_ids)s::uuid[]) AS pair (from_id, to_id)
ON CONFLICT DO NOTHING
