-- Mentions: which memories mention which entities.

-- name: lock_shared
-- Whether an owner has any entity; shares the owner's mentions lock until the transaction ends.
SELECT mnemic.lock_mentions_shared(%(owner)s) AS has_names

-- name: lock
-- Takes the owner's mentions lock exclusively; false after a timeout.
SELECT mnemic.lock_mentions(%(owner)s) AS is_held

-- name: known_names
-- The names of an owner's entities that begin with one of these words.
SELECT name, entity_id
FROM state.entity_names
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND first_word = ANY(%(words)s::text[])
LIMIT %(limit)s

-- name: link
-- Links memories of an owner to entities, pair by pair; the row count is that of new links.
INSERT INTO state.memory_entities (tenant_id, owner, memory_id, entity_id)
SELECT memories.tenant_id, memories.owner, memories.memory_id, pair.entity_id
FROM unnest(%(memory_ids)s::uuid[], %(entity_ids)s::uuid[]) AS pair (memory_id, entity_id)
JOIN state.memories
    ON memories.tenant_id = %(tenant_id)s AND memories.memory_id = pair.memory_id AND memories.owner = %(owner)s
ON CONFLICT DO NOTHING

-- name: hold_memory
-- A memory of the owner that serves as evidence, locked against erasure until the transaction ends.
SELECT memory_id FROM state.memories
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND memory_id = %(memory_id)s FOR KEY SHARE

-- name: memories_with_phrases
-- The newest memories of an owner that contain one of these phrases.
SELECT memory_id, content
FROM mnemic.memories_with_phrases(%(owner)s, %(phrases)s::text[], %(scan_max)s, %(limit)s)

-- name: newest_with_texts
-- Those of the newest memories that contain one of these texts. For names that PostgreSQL cannot split into words,
-- such as those in scripts without spaces.
SELECT newest.memory_id, newest.content
FROM (
    SELECT memory_id, content FROM state.memories
    WHERE memories.tenant_id = %(tenant_id)s AND owner = %(owner)s
    ORDER BY memory_id DESC
    LIMIT %(scan_max)s
) AS newest
WHERE EXISTS (
    SELECT FROM unnest(%(texts)s::text[]) AS wanted (name) WHERE strpos(lower(newest.content), lower(wanted.name)) > 0
)
ORDER BY newest.memory_id DESC
LIMIT %(limit)s

-- name: memories_of
-- The memories that mention an entity, newest first, a page at a time.
SELECT memory_id
FROM state.memory_entities
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND entity_id = %(entity_id)s
  AND memory_id < coalesce(%(before)s::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
ORDER BY memory_id DESC
LIMIT %(limit)s

-- name: records_of
-- The same as records of memories; forgotten ones only if asked for.
SELECT records.*
FROM state.memory_entities AS links
JOIN state.memory_records AS records ON records.tenant_id = %(tenant_id)s AND records.memory_id = links.memory_id
WHERE links.tenant_id = %(tenant_id)s AND links.owner = %(owner)s AND links.entity_id = %(entity_id)s
  AND links.memory_id < coalesce(%(before)s::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
  AND (%(include_forgotten)s OR records.deleted_at IS NULL)
ORDER BY links.memory_id DESC
LIMIT %(limit)s

-- name: entities_in
-- The entities that a memory mentions, the most salient first.
SELECT entities.entity_id
FROM state.memory_entities AS links
JOIN state.entity_records AS entities ON entities.tenant_id = %(tenant_id)s AND entities.entity_id = links.entity_id
WHERE links.tenant_id = %(tenant_id)s AND links.owner = %(owner)s AND links.memory_id = %(memory_id)s
ORDER BY entities.salience DESC, entities.entity_id
LIMIT %(limit)s
