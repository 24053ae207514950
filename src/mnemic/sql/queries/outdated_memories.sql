-- Memories that a newer one outdates (migrations/0020_outdated_memories.sql).

-- name: statements
-- Those of these memories that can be statements: active, short, no part of a longer text or document. `above` are the
-- channels that the branch of a memory reads.
SELECT memory_id, channel, content, coalesce(at, created_at) AS happened_at, coalesce(name, role) AS speaker,
    CASE WHEN branch IS NOT NULL THEN (
        SELECT viewed.past_channels FROM mnemic.branch_view(%(tenant_id)s, %(owner)s, ARRAY[branch]) AS viewed
    ) END AS above
FROM state.memories
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND memory_id = ANY(%(ids)s::uuid[])
  AND status = 'active' AND deleted_at IS NULL AND category <> 'reference' AND whole_id IS NULL
  AND octet_length(content) <= %(statement_most)s

-- name: with_words
-- The newest memories with all words of each of these texts that can be statements.
SELECT found.memory_id
FROM mnemic.memories_with_words(%(tenant_id)s, %(owner)s, %(texts)s::text[], %(statement_most)s, %(most)s)
    AS found (memory_id)

-- name: remove_found
-- Removes the marks of memories that are compared again; decisions stay.
DELETE FROM state.outdated_memories
WHERE tenant_id = %(tenant_id)s AND decision = 'found'
  AND (older_id = ANY(%(ids)s::uuid[]) OR newer_id = ANY(%(ids)s::uuid[]))

-- name: add
-- Marks memories as outdated by newer ones. Waits for a concurrent deletion; a deleted memory gets no mark.
INSERT INTO state.outdated_memories (tenant_id, older_id, newer_id, attribute, reason, certainty)
SELECT %(tenant_id)s, given.older_id, given.newer_id, given.attribute, given.reason, given.certainty
FROM unnest(
    %(older_ids)s::uuid[], %(newer_ids)s::uuid[], %(attributes)s::text[], %(reasons)s::text[], %(certainties)s::real[]
) AS given (older_id, newer_id, attribute, reason, certainty)
JOIN state.memories AS older ON older.tenant_id = %(tenant_id)s AND older.memory_id = given.older_id
JOIN state.memories AS newer ON newer.tenant_id = %(tenant_id)s AND newer.memory_id = given.newer_id
ORDER BY given.older_id, given.newer_id
FOR KEY SHARE OF older, newer
ON CONFLICT DO NOTHING

-- name: add_of_statements
-- Marks sources whose whole text is a statement that another statement has superseded, by the newest source of that
-- one, for statements that rest on one of the given sources.
INSERT INTO state.outdated_memories (tenant_id, older_id, newer_id, attribute, reason, certainty)
SELECT DISTINCT ON (older.memory_id) %(tenant_id)s, older.memory_id, newer.memory_id, left(statements.attribute, 64),
    %(reason)s, %(certainty)s
FROM (
    SELECT DISTINCT memory_id FROM state.statement_sources
    WHERE tenant_id = %(tenant_id)s AND source_id = ANY(%(ids)s::uuid[])
) AS resting
JOIN LATERAL (
    SELECT memory_id, superseded_by FROM state.memories
    WHERE tenant_id = %(tenant_id)s AND memory_id = resting.memory_id AND status = 'superseded' AND superseded_by IS NOT NULL
    UNION ALL
    SELECT memory_id, superseded_by FROM state.memories
    WHERE tenant_id = %(tenant_id)s AND superseded_by = resting.memory_id AND status = 'superseded'
) AS replaced ON true
JOIN state.statements ON statements.tenant_id = %(tenant_id)s AND statements.memory_id = replaced.memory_id
JOIN state.statement_sources AS said ON said.tenant_id = %(tenant_id)s AND said.memory_id = replaced.memory_id
JOIN state.memories AS older ON older.tenant_id = %(tenant_id)s AND older.memory_id = said.source_id
JOIN state.statement_sources AS said_since
    ON said_since.tenant_id = %(tenant_id)s AND said_since.memory_id = replaced.superseded_by
JOIN state.memories AS newer ON newer.tenant_id = %(tenant_id)s AND newer.memory_id = said_since.source_id
WHERE older.memory_id <> newer.memory_id AND older.channel = newer.channel
  AND older.status = 'active' AND older.deleted_at IS NULL AND newer.status = 'active' AND newer.deleted_at IS NULL
  AND coalesce(older.at, older.created_at) <= coalesce(newer.at, newer.created_at)
  AND btrim(older.content, E' .!\n') = btrim(said.quotation, E' .!\n')
ORDER BY older.memory_id, coalesce(newer.at, newer.created_at) DESC, newer.memory_id
ON CONFLICT DO NOTHING

-- name: list
-- The marks of an owner's memories outside of branches, newest first, as long as both memories can be read.
SELECT
    marked.older_id AS memory_id, marked.newer_id AS outdated_by, marked.attribute, marked.reason, marked.certainty,
    marked.decision, marked.found_at
FROM state.outdated_memories AS marked
JOIN state.memories AS older ON older.tenant_id = %(tenant_id)s AND older.memory_id = marked.older_id
JOIN state.memories AS newer ON newer.tenant_id = %(tenant_id)s AND newer.memory_id = marked.newer_id
WHERE marked.tenant_id = %(tenant_id)s AND older.owner = %(owner)s AND newer.owner = %(owner)s
  AND marked.decision <> 'current' AND older.deleted_at IS NULL AND newer.deleted_at IS NULL
  AND older.branch IS NULL AND newer.branch IS NULL
  AND (%(memory_id)s::uuid IS NULL OR marked.older_id = %(memory_id)s)
ORDER BY marked.found_at DESC, marked.older_id, marked.newer_id
LIMIT %(limit)s

-- name: decide
-- Records a decision: whether the newer memory outdates the older one. Both must be the owner's.
INSERT INTO state.outdated_memories AS marked
    (tenant_id, older_id, newer_id, reason, certainty, decision, decided_at)
SELECT %(tenant_id)s, older.memory_id, newer.memory_id, %(reason)s, 1, %(decision)s, now()
FROM state.memories AS older
JOIN state.memories AS newer
    ON newer.tenant_id = %(tenant_id)s AND newer.owner = older.owner AND newer.memory_id = %(newer_id)s
WHERE older.tenant_id = %(tenant_id)s AND older.owner = %(owner)s AND older.memory_id = %(older_id)s
ON CONFLICT (tenant_id, older_id, newer_id)
DO UPDATE SET decision = excluded.decision, decided_at = excluded.decided_at,
    reason = CASE WHEN excluded.decision = 'current' THEN marked.reason ELSE excluded.reason END,
    certainty = CASE WHEN excluded.decision = 'current' THEN marked.certainty ELSE 1 END
