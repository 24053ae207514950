-- Single memories: reading, changing, history, relationships. An owner sees and changes only its own.

-- name: get
-- One memory, whatever its status.
SELECT * FROM state.memory_records
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND memory_id = %(memory_id)s

-- name: lock
-- One memory, locked until the transaction ends.
SELECT memory_id FROM state.memories
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND memory_id = %(memory_id)s FOR UPDATE

-- name: write
-- Writes all mutable columns of a memory; a trigger stores the previous version. Returns the number of the new one.
UPDATE state.memories
SET content = %(content)s, category = %(category)s, tags = %(tags)s, metadata = %(metadata)s, channel = %(channel)s,
    source = %(source)s, provenance = %(provenance)s, evidence = %(evidence)s, confidence = %(confidence)s,
    anchored = %(anchored)s, status = %(status)s, superseded_by = %(superseded_by)s, merged_into = %(merged_into)s,
    at = %(at)s, valid_from = %(valid_from)s, valid_to = %(valid_to)s, expires_at = %(expires_at)s,
    deleted_at = %(deleted_at)s, changed_by = %(changed_by)s, change_reason = %(change_reason)s
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND memory_id = %(memory_id)s
RETURNING version

-- name: write_shared
-- Copies the columns that the chunks of one text share to the other chunks of the text.
UPDATE state.memories
SET status = %(status)s, superseded_by = %(superseded_by)s, merged_into = %(merged_into)s, valid_from = %(valid_from)s,
    valid_to = %(valid_to)s, expires_at = %(expires_at)s, deleted_at = %(deleted_at)s, changed_by = %(changed_by)s,
    change_reason = %(change_reason)s
WHERE memories.tenant_id = %(tenant_id)s
  AND owner = %(owner)s AND whole_id = %(whole_id)s AND memory_id <> %(memory_id)s
  AND (status, superseded_by, merged_into, valid_from, valid_to, expires_at, deleted_at) IS DISTINCT FROM
      (%(status)s::text, %(superseded_by)s::uuid, %(merged_into)s::uuid, %(valid_from)s::timestamptz,
       %(valid_to)s::timestamptz, %(expires_at)s::timestamptz, %(deleted_at)s::timestamptz)

-- name: unlink_mentions
-- Deletes the links from a memory to entities, except where the memory is evidence for a fact or relation.
DELETE FROM state.memory_entities AS link
WHERE link.tenant_id = %(tenant_id)s AND owner = %(owner)s AND memory_id = %(memory_id)s
  AND NOT EXISTS (
      SELECT FROM state.entity_facts AS fact
      WHERE fact.tenant_id = %(tenant_id)s AND fact.memory_id = link.memory_id AND fact.entity_id = link.entity_id
  )
  AND NOT EXISTS (
      SELECT FROM state.entity_relations AS relation
      WHERE relation.tenant_id = %(tenant_id)s
        AND relation.memory_id = link.memory_id AND link.entity_id IN (relation.from_id, relation.to_id)
  )

-- name: history
-- Every version of a memory, oldest first.
SELECT * FROM state.memory_history
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND memory_id = %(memory_id)s
ORDER BY version

-- name: version
-- One version of a memory.
SELECT * FROM state.memory_history
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND memory_id = %(memory_id)s AND version = %(version)s

-- name: as_of
-- A memory as it was known at a time; no row if it was not known then.
SELECT * FROM state.memory_history
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND memory_id = %(memory_id)s
  AND recorded_at <= %(moment)s AND (known_until IS NULL OR known_until > %(moment)s)
ORDER BY version DESC
LIMIT 1

-- name: whole
-- The chunks of the text that a memory is part of, in order; the memory itself if it is not split.
SELECT chunks.content
FROM state.memories AS part
JOIN state.memories AS chunks
    ON chunks.tenant_id = %(tenant_id)s AND chunks.owner = part.owner
    AND (chunks.memory_id = part.memory_id OR (part.whole_id IS NOT NULL AND chunks.whole_id = part.whole_id))
WHERE part.tenant_id = %(tenant_id)s AND part.owner = %(owner)s AND part.memory_id = %(memory_id)s
ORDER BY chunks.chunk_index

-- name: relate
-- Relates two memories of one owner; no row if one of them does not exist.
INSERT INTO state.memory_relationships AS kept (tenant_id, from_id, to_id, kind, confidence, process)
SELECT source.tenant_id, source.memory_id, target.memory_id, %(kind)s, %(confidence)s, %(process)s
FROM state.memories AS source, state.memories AS target
WHERE source.tenant_id = %(tenant_id)s
  AND target.tenant_id = %(tenant_id)s AND source.owner = %(owner)s AND source.memory_id = %(from_id)s
  AND target.owner = %(owner)s AND target.memory_id = %(to_id)s
ON CONFLICT (tenant_id, from_id, to_id, kind) DO UPDATE SET confidence = excluded.confidence, process = excluded.process
RETURNING from_id, to_id, kind, confidence, process, created_at

-- name: related
-- Relationships of a memory in both directions, with those memories' owner checked.
SELECT from_id, to_id, kind, memory_relationships.confidence, memory_relationships.process, memory_relationships.created_at
FROM state.memory_relationships
JOIN state.memories
    ON memories.tenant_id = %(tenant_id)s AND memories.memory_id = %(memory_id)s AND memories.owner = %(owner)s
WHERE memory_relationships.tenant_id = %(tenant_id)s AND (from_id = %(memory_id)s OR to_id = %(memory_id)s)
  AND (%(kinds)s::text[] IS NULL OR kind = ANY(%(kinds)s::text[]))
ORDER BY memory_relationships.created_at, from_id, to_id, kind
LIMIT %(limit)s

-- name: near_duplicates
-- Near duplicates among an owner's active memories outside of branches that await a decision.
SELECT near.memory_id, near.like_id, near.similarity, near.decision, near.found_at
FROM state.near_duplicates AS near
JOIN state.memories AS newer ON newer.tenant_id = %(tenant_id)s AND newer.memory_id = near.memory_id
JOIN state.memories AS older ON older.tenant_id = %(tenant_id)s AND older.memory_id = near.like_id
WHERE near.tenant_id = %(tenant_id)s AND newer.owner = %(owner)s AND near.decision = 'pending'
  AND newer.status = 'active' AND newer.deleted_at IS NULL AND older.status = 'active' AND older.deleted_at IS NULL
  AND newer.branch IS NULL AND older.branch IS NULL
ORDER BY near.found_at, near.memory_id, near.like_id
LIMIT %(limit)s

-- name: decide_near_duplicate
-- Records the decision about a pair of near duplicates.
UPDATE state.near_duplicates AS near
SET decision = %(decision)s
FROM state.memories
WHERE near.tenant_id = %(tenant_id)s
  AND memories.tenant_id = near.tenant_id AND memories.memory_id = near.memory_id AND memories.owner = %(owner)s
  AND near.memory_id = %(memory_id)s AND near.like_id = %(like_id)s
