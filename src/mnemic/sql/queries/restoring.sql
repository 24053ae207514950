-- Statements that come back when the statements that replaced them are forgotten, and give way again.

-- name: replaced_by
-- What a forgotten memory of an owner replaced, or the forgotten statements that rest on it or on another chunk of its text.
SELECT DISTINCT older.memory_id
FROM (
    SELECT %(memory_id)s::uuid AS memory_id
    UNION
    SELECT part.memory_id FROM state.memories AS named
    JOIN state.memories AS part ON part.tenant_id = %(tenant_id)s AND part.whole_id = named.whole_id
    WHERE named.tenant_id = %(tenant_id)s AND named.memory_id = %(memory_id)s
) AS sources
CROSS JOIN LATERAL (
    SELECT sources.memory_id
    UNION
    SELECT link.memory_id FROM state.statement_sources AS link
    WHERE link.tenant_id = %(tenant_id)s AND link.source_id = sources.memory_id
) AS resting
JOIN state.memories AS gone
    ON gone.tenant_id = %(tenant_id)s AND gone.memory_id = resting.memory_id AND gone.deleted_at IS NOT NULL
JOIN state.memories AS older ON older.tenant_id = %(tenant_id)s AND older.superseded_by = gone.memory_id
WHERE gone.owner = %(owner)s AND older.status = 'superseded' AND older.deleted_at IS NULL

-- name: resting_on
-- The statements of an owner that are a memory, or rest on it or on another chunk of its text.
SELECT DISTINCT statements.memory_id
FROM (
    SELECT %(memory_id)s::uuid AS memory_id
    UNION
    SELECT part.memory_id FROM state.memories AS named
    JOIN state.memories AS part ON part.tenant_id = %(tenant_id)s AND part.whole_id = named.whole_id
    WHERE named.tenant_id = %(tenant_id)s AND named.memory_id = %(memory_id)s
) AS sources
CROSS JOIN LATERAL (
    SELECT sources.memory_id
    UNION
    SELECT link.memory_id FROM state.statement_sources AS link
    WHERE link.tenant_id = %(tenant_id)s AND link.source_id = sources.memory_id
) AS resting
JOIN state.statements ON statements.tenant_id = %(tenant_id)s AND statements.memory_id = resting.memory_id
WHERE statements.owner = %(owner)s

-- name: all_replaced
-- Statements of an owner, or of all owners, that a forgotten memory replaced, a page at a time.
SELECT older.owner, older.memory_id
FROM state.memories AS gone
JOIN state.memories AS older ON older.tenant_id = %(tenant_id)s AND older.superseded_by = gone.memory_id
JOIN state.statements ON statements.tenant_id = %(tenant_id)s AND statements.memory_id = older.memory_id
WHERE gone.tenant_id = %(tenant_id)s AND gone.deleted_at IS NOT NULL
  AND (%(owner)s::text IS NULL OR gone.owner = %(owner)s)
  AND older.status = 'superseded' AND older.deleted_at IS NULL
  AND (older.owner, older.memory_id) > (%(after_owner)s, %(after_id)s::uuid)
ORDER BY older.owner, older.memory_id
LIMIT %(limit)s

-- name: restorable
-- Those of the given statements that an applied contradiction superseded and of which the replacement is forgotten, with
-- the end of their validity before that and what replaced them. Of several with one text the newest; none if the owner
-- has an active memory with this text.
SELECT DISTINCT ON (older.content_hash, older.branch) older.memory_id, statements.channel, before.valid_to,
    replacing.replaced_by
FROM unnest(%(ids)s::uuid[]) AS given (memory_id)
JOIN state.memories AS older ON older.tenant_id = %(tenant_id)s AND older.memory_id = given.memory_id
JOIN state.statements ON statements.tenant_id = %(tenant_id)s AND statements.memory_id = given.memory_id
JOIN state.memories AS gone ON gone.tenant_id = %(tenant_id)s AND gone.memory_id = older.superseded_by
CROSS JOIN LATERAL (
    SELECT versions.valid_to FROM state.memory_versions AS versions
    WHERE versions.tenant_id = %(tenant_id)s AND versions.memory_id = given.memory_id AND versions.superseded_by IS NULL
    ORDER BY versions.version DESC LIMIT 1
) AS before
CROSS JOIN LATERAL (
    SELECT (array_agg(DISTINCT replaced.by))[:64] AS replaced_by
    FROM state.memory_changes AS changes
    JOIN state.changesets ON changesets.tenant_id = %(tenant_id)s AND changesets.changeset_id = changes.changeset_id
    CROSS JOIN LATERAL unnest(changes.evidence) AS replaced (by)
    WHERE changes.tenant_id = %(tenant_id)s AND changes.memory_id = given.memory_id AND changes.kind = 'supersede'
      AND changes.state = 'applied' AND changesets.purpose = 'contradiction'
) AS replacing
WHERE older.owner = %(owner)s AND older.status = 'superseded' AND older.deleted_at IS NULL AND gone.deleted_at IS NOT NULL
  AND gone.memory_id = ANY(replacing.replaced_by)
  AND NOT EXISTS (
      SELECT FROM state.memories AS again
      WHERE again.tenant_id = %(tenant_id)s AND again.content_hash = older.content_hash AND again.owner = older.owner
        AND again.branch IS NOT DISTINCT FROM older.branch AND again.status = 'active' AND again.deleted_at IS NULL
  )
ORDER BY older.content_hash, older.branch, older.memory_id DESC

-- name: active
-- Those of the given statements that are active.
SELECT statements.memory_id, statements.channel, statements.subject, statements.attribute, statements.value,
    statements.is_negated
FROM unnest(%(ids)s::uuid[]) AS given (memory_id)
JOIN state.statements ON statements.tenant_id = %(tenant_id)s AND statements.memory_id = given.memory_id
JOIN state.memories ON memories.tenant_id = %(tenant_id)s AND memories.memory_id = given.memory_id
WHERE memories.owner = %(owner)s AND memories.status = 'active' AND memories.deleted_at IS NULL
ORDER BY statements.memory_id

-- name: restored
-- Those of the given memories of which the last decided change restored them because what replaced them was forgotten,
-- and that nobody has changed since, except by forgetting and restoring them.
SELECT given.memory_id
FROM unnest(%(ids)s::uuid[]) AS given (memory_id)
JOIN state.memories AS present ON present.tenant_id = %(tenant_id)s AND present.memory_id = given.memory_id
CROSS JOIN LATERAL (
    SELECT changes.changeset_id, changes.kind, changes.state, changes.version_after FROM state.memory_changes AS changes
    WHERE changes.tenant_id = %(tenant_id)s AND changes.memory_id = given.memory_id
      AND changes.state IN ('applied', 'undone')
    ORDER BY changes.change_id DESC LIMIT 1
) AS last_change
JOIN state.changesets ON changesets.tenant_id = %(tenant_id)s AND changesets.changeset_id = last_change.changeset_id
JOIN state.memory_history AS restored
    ON restored.tenant_id = %(tenant_id)s AND restored.memory_id = given.memory_id
    AND restored.version = last_change.version_after
WHERE present.owner = %(owner)s AND last_change.kind = 'restore' AND last_change.state = 'applied'
  AND changesets.purpose = 'contradiction'
  AND (
      restored.content, restored.status, restored.channel, restored.valid_from, restored.valid_to, restored.confidence,
      restored.anchored, restored.tags
  ) IS NOT DISTINCT FROM (
      present.content, present.status, present.channel, present.valid_from, present.valid_to, present.confidence,
      present.anchored, present.tags
  )
