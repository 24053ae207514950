-- The change log: changesets and their changes (record/changesets.py). An owner sees and changes only its own.
--
-- Without statistics PostgreSQL takes an owner for as selective as an id, and would read all memories of the owner for each
-- id. So the queries look memories up by their ids (OFFSET 0 keeps the lookup as it is) and compare the owner afterwards;
-- `owner || ''` cannot use an index by owner.

-- name: add
-- Records a changeset without changes.
INSERT INTO state.changesets (tenant_id, owner, channel, purpose, reason, details, process)
VALUES (%(tenant_id)s, %(owner)s, %(channel)s, %(purpose)s, %(reason)s, %(details)s, %(process)s)
RETURNING changeset_id

-- name: add_changes
-- Records changes of a changeset with the versions that their memories have now; returns those memories. A memory that
-- the owner does not have gets no row.
WITH given AS (
    SELECT * FROM jsonb_to_recordset(%(changes)s::jsonb) AS change (
        "position" int, memory_id uuid, kind text, fields jsonb, related_id uuid, relationship text, reason text,
        evidence uuid[], signals jsonb
    )
)
INSERT INTO state.memory_changes (
    tenant_id, owner, changeset_id, "position", memory_id, kind, fields, version_before, related_id, relationship, reason,
    evidence, signals
)
SELECT
    %(tenant_id)s, %(owner)s, %(changeset_id)s, given."position", given.memory_id, given.kind, given.fields, memories.version,
    given.related_id, given.relationship, given.reason, given.evidence, given.signals
FROM given
CROSS JOIN LATERAL (
    SELECT owner, version FROM state.memories
    WHERE memories.tenant_id = %(tenant_id)s AND memories.memory_id = given.memory_id
    OFFSET 0
) AS memories
WHERE memories.owner = %(owner)s
ORDER BY given."position"
RETURNING memory_id

-- name: lock
-- One changeset, locked until the transaction ends.
SELECT changeset_id, purpose, process FROM state.changesets
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND changeset_id = %(changeset_id)s
FOR UPDATE

-- name: changes
-- Changes of a changeset in some states, or some of them, in the order in which they are applied.
SELECT
    change_id, memory_id, kind, state, fields, version_before, version_after, applied_at, related_id, relationship,
    relationship_added, reason, evidence, signals
FROM state.memory_changes
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND changeset_id = %(changeset_id)s
  AND (%(states)s::text[] IS NULL OR state = ANY(%(states)s::text[]))
  AND (%(change_ids)s::uuid[] IS NULL OR change_id = ANY(%(change_ids)s::uuid[]))
ORDER BY "position"

-- name: lock_memories
-- Memories, locked until the transaction ends, in a fixed order to avoid deadlocks.
SELECT memory_id FROM state.memories
WHERE tenant_id = %(tenant_id)s AND owner || '' = %(owner)s AND memory_id = ANY(%(ids)s::uuid[])
ORDER BY memory_id
FOR UPDATE

-- name: memories
-- The current states of memories.
SELECT * FROM state.memory_records
WHERE tenant_id = %(tenant_id)s AND owner || '' = %(owner)s AND memory_id = ANY(%(ids)s::uuid[])

-- name: versions
-- Some versions of memories; `ids` and `versions` have the same length.
SELECT history.*
FROM unnest(%(ids)s::uuid[], %(versions)s::int[]) AS wanted (memory_id, version)
CROSS JOIN LATERAL (
    SELECT * FROM state.memory_history
    WHERE memory_history.tenant_id = %(tenant_id)s
      AND memory_history.memory_id = wanted.memory_id AND memory_history.version = wanted.version
    OFFSET 0
) AS history
WHERE history.owner = %(owner)s

-- name: twins
-- Active memories with the same content as memories that are to become active or to move to this channel, without those that
-- the same changeset retires or moves.
SELECT wanted.memory_id, twin.memory_id AS twin_id
FROM unnest(%(ids)s::uuid[], %(categories)s::text[], %(channels)s::text[]) AS wanted (memory_id, category, channel)
CROSS JOIN LATERAL (
    SELECT * FROM state.memories
    WHERE memories.tenant_id = %(tenant_id)s AND memories.memory_id = wanted.memory_id
    OFFSET 0
) AS restored
CROSS JOIN LATERAL (
    SELECT
        mnemic.content_hash(
            restored.content, wanted.category, restored.conversation, restored."position", restored.whole_hash,
            restored.chunk_index
        ) AS content_hash,
        mnemic.branch_of(%(tenant_id)s, %(owner)s, wanted.channel) AS branch
    OFFSET 0
) AS same
CROSS JOIN LATERAL (
    SELECT memory_id, owner, branch FROM state.memories
    WHERE memories.tenant_id = %(tenant_id)s AND memories.content_hash = same.content_hash
      AND status = 'active' AND deleted_at IS NULL AND coalesce(memories.chunk_index, 0) = 0
    OFFSET 0
) AS twin
WHERE restored.owner = %(owner)s AND coalesce(restored.chunk_index, 0) = 0
  AND twin.owner = %(owner)s AND twin.branch IS NOT DISTINCT FROM same.branch
  AND twin.memory_id <> wanted.memory_id AND twin.memory_id <> ALL(%(retired_ids)s::uuid[])

-- name: dependants
-- Memories that are recalled no more because one of these replaced them.
SELECT memory_id, superseded_by AS other_id FROM state.memories
WHERE tenant_id = %(tenant_id)s AND owner || '' = %(owner)s AND superseded_by = ANY(%(ids)s::uuid[]) AND deleted_at IS NULL
UNION
SELECT memory_id, merged_into FROM state.memories
WHERE tenant_id = %(tenant_id)s AND owner || '' = %(owner)s AND merged_into = ANY(%(ids)s::uuid[]) AND deleted_at IS NULL
ORDER BY 1, 2

-- name: same_text
-- Those of the given pairs of memories that are chunks of one text.
SELECT DISTINCT one.memory_id, other.memory_id AS other_id
FROM unnest(%(ids)s::uuid[], %(other_ids)s::uuid[]) AS given (memory_id, other_id)
CROSS JOIN LATERAL (
    SELECT memory_id, owner, whole_id FROM state.memories
    WHERE memories.tenant_id = %(tenant_id)s AND memories.memory_id = given.memory_id
    OFFSET 0
) AS one
CROSS JOIN LATERAL (
    SELECT memory_id, owner, whole_id FROM state.memories
    WHERE memories.tenant_id = %(tenant_id)s AND memories.memory_id = given.other_id
    OFFSET 0
) AS other
WHERE one.owner = %(owner)s AND other.owner = %(owner)s AND other.whole_id = one.whole_id
ORDER BY one.memory_id, other.memory_id

-- name: later_changes
-- Applied changes of the same memories that are later than the given ones and not among them; also changes of other chunks
-- of the same text, if one of the two writes fields that chunks share.
SELECT DISTINCT changed.memory_id, later.changeset_id
FROM state.memory_changes AS given
CROSS JOIN LATERAL (
    SELECT memory_id, whole_id FROM state.memories
    WHERE memories.tenant_id = %(tenant_id)s AND memories.memory_id = given.memory_id
    OFFSET 0
) AS changed
CROSS JOIN LATERAL (
    SELECT changed.memory_id
    UNION
    SELECT memories.memory_id FROM state.memories
    WHERE memories.tenant_id = %(tenant_id)s AND memories.whole_id = changed.whole_id
) AS part
CROSS JOIN LATERAL (
    SELECT * FROM state.memory_changes
    WHERE memory_changes.tenant_id = %(tenant_id)s AND memory_changes.memory_id = part.memory_id
    OFFSET 0
) AS later
WHERE given.tenant_id = %(tenant_id)s AND given.owner || '' = %(owner)s AND given.change_id = ANY(%(change_ids)s::uuid[])
  AND later.owner = %(owner)s
  AND given.version_after <> given.version_before
  AND later.state = 'applied' AND later.version_after <> later.version_before
  AND (later.applied_at, later."position") > (given.applied_at, given."position")
  AND (part.memory_id = changed.memory_id OR given.fields ?| %(shared)s::text[] OR later.fields ?| %(shared)s::text[])
  AND later.change_id <> ALL(%(change_ids)s::uuid[])
ORDER BY changed.memory_id, later.changeset_id

-- name: relate
-- Adds a relationship between two memories of the owner unless it exists; no row if it exists.
INSERT INTO state.memory_relationships (tenant_id, from_id, to_id, kind, confidence, process)
SELECT source.tenant_id, source.memory_id, target.memory_id, %(kind)s, 1, %(process)s
FROM state.memories AS source, state.memories AS target
WHERE source.tenant_id = %(tenant_id)s AND source.owner = %(owner)s AND source.memory_id = %(from_id)s
  AND target.tenant_id = %(tenant_id)s AND target.owner = %(owner)s AND target.memory_id = %(to_id)s
ON CONFLICT (tenant_id, from_id, to_id, kind) DO NOTHING
RETURNING from_id

-- name: hand_over_relationship
-- Lets another applied change own a relationship that this change added; no row if no other one needs it.
UPDATE state.memory_changes
SET relationship_added = true
WHERE tenant_id = %(tenant_id)s AND change_id = (
    SELECT other.change_id FROM state.memory_changes AS other
    WHERE other.tenant_id = %(tenant_id)s AND other.owner = %(owner)s AND other.memory_id = %(from_id)s
      AND other.related_id = %(to_id)s AND other.relationship = %(kind)s AND other.state = 'applied'
      AND other.change_id <> ALL(%(undone_ids)s::uuid[])
    ORDER BY other.change_id
    LIMIT 1
)
RETURNING change_id

-- name: unrelate
-- Removes a relationship that a change added, unless a caller has related the memories again since.
DELETE FROM state.memory_relationships
WHERE tenant_id = %(tenant_id)s AND from_id = %(from_id)s AND to_id = %(to_id)s AND kind = %(kind)s
  AND confidence = 1 AND process = %(process)s

-- name: mark_applied
-- Records that changes were applied, with the versions that they replaced and the ones that they made.
UPDATE state.memory_changes AS change
SET state = 'applied', version_before = given.version_before, version_after = given.version_after,
    applied_at = statement_timestamp(), relationship_added = given.relationship_added
FROM unnest(
    %(change_ids)s::uuid[], %(versions_before)s::int[], %(versions_after)s::int[], %(relationships_added)s::boolean[]
) AS given (change_id, version_before, version_after, relationship_added)
WHERE change.tenant_id = %(tenant_id)s AND change.owner = %(owner)s AND change.change_id = given.change_id

-- name: advance_open
-- Lets the open changes of a changeset build on those that were just applied to the same memories.
UPDATE state.memory_changes AS change
SET version_before = memories.version
FROM state.memories
WHERE change.tenant_id = %(tenant_id)s AND change.owner = %(owner)s AND change.changeset_id = %(changeset_id)s
  AND change.memory_id = ANY(%(ids)s::uuid[]) AND change.state IN ('staged', 'approved')
  AND memories.tenant_id = %(tenant_id)s AND memories.memory_id = change.memory_id

-- name: mark
-- Records a new state of changes.
UPDATE state.memory_changes
SET state = %(state)s
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND change_id = ANY(%(change_ids)s::uuid[])

-- name: settle
-- Derives the state of a changeset from those of its changes.
UPDATE state.changesets
SET state = settled.state,
    decided_at = CASE WHEN settled.state = 'staged' THEN changesets.decided_at ELSE coalesce(changesets.decided_at, now()) END,
    undone_at = CASE WHEN settled.state = 'undone' THEN now() END
FROM (
    SELECT CASE
        WHEN bool_or(changes.state IN ('staged', 'approved')) THEN 'staged'
        WHEN bool_or(changes.state = 'applied') THEN 'applied'
        WHEN bool_or(changes.state = 'undone') THEN 'undone'
        ELSE 'rejected'
    END AS state
    FROM state.memory_changes AS changes
    WHERE changes.tenant_id = %(tenant_id)s AND changes.changeset_id = %(changeset_id)s
) AS settled
WHERE changesets.tenant_id = %(tenant_id)s AND changesets.owner = %(owner)s AND changesets.changeset_id = %(changeset_id)s
RETURNING changesets.state

-- name: list
-- Changesets of an owner, newest first, a page at a time, each with the number of its changes by state; NULL filters match
-- everything.
SELECT
    changeset_id, owner, channel, purpose, state, reason, details, process, created_at, decided_at, undone_at,
    coalesce(
        (
            SELECT jsonb_object_agg(counted.state, counted.change_count)
            FROM (
                SELECT changes.state, count(*) AS change_count FROM state.memory_changes AS changes
                WHERE changes.tenant_id = %(tenant_id)s AND changes.changeset_id = changesets.changeset_id
                GROUP BY changes.state
            ) AS counted
        ),
        '{}'
    ) AS change_counts
FROM state.changesets
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s
  AND (%(changeset_id)s::uuid IS NULL OR changeset_id = %(changeset_id)s)
  AND changeset_id < coalesce(%(before)s::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
  AND (%(state)s::text IS NULL OR state = %(state)s)
  AND (%(purpose)s::text IS NULL OR purpose = %(purpose)s)
ORDER BY changeset_id DESC
LIMIT %(limit)s

-- name: diff
-- Changes of a changeset in their order, a page at a time, with the contents of their memories.
SELECT
    change."position", change.change_id, change.memory_id, change.kind, change.state, change.fields, change.version_before,
    change.related_id, change.relationship, change.reason, change.evidence, change.signals, memories.content
FROM state.memory_changes AS change
CROSS JOIN LATERAL (
    SELECT content FROM state.memories
    WHERE memories.tenant_id = %(tenant_id)s AND memories.memory_id = change.memory_id
    OFFSET 0
) AS memories
WHERE change.tenant_id = %(tenant_id)s AND change.owner = %(owner)s AND change.changeset_id = %(changeset_id)s
  AND change."position" > coalesce(%(after)s::int, -1)
ORDER BY change."position"
LIMIT %(limit)s

-- name: contents
-- The contents of memories.
SELECT memory_id, content FROM state.memories
WHERE tenant_id = %(tenant_id)s AND owner || '' = %(owner)s AND memory_id = ANY(%(ids)s::uuid[])
