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
-- the end of their validity before that and everything that replaced them. Of several with one text the newest; none
-- if the owner has an active memory with this text.
SELECT DISTINCT ON (older.content_hash, older.branch) older.memory_id, older.memory_id AS older_id, statements.channel,
    statements.subject, statements.attribute, statements.value, statements.is_negated, before.valid_to,
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

-- name: replaced_again
-- Those of the given statements that are active, with the statements that were restored because these were forgotten,
-- and that nobody has changed since.
SELECT DISTINCT own.memory_id, older.memory_id AS older_id, own.channel, own.subject, own.attribute, own.value,
    own.is_negated
FROM unnest(%(ids)s::uuid[]) AS given (memory_id)
JOIN state.memories AS back ON back.tenant_id = %(tenant_id)s AND back.memory_id = given.memory_id
JOIN state.statements AS own ON own.tenant_id = %(tenant_id)s AND own.memory_id = given.memory_id
JOIN state.statements AS slot
    ON slot.tenant_id = %(tenant_id)s AND slot.owner = own.owner AND slot.channel = own.channel
    AND slot.subject_key = own.subject_key
JOIN state.memories AS older ON older.tenant_id = %(tenant_id)s AND older.memory_id = slot.memory_id
JOIN state.memory_changes AS changes
    ON changes.tenant_id = %(tenant_id)s AND changes.memory_id = older.memory_id AND changes.version_after = older.version
JOIN state.changesets ON changesets.tenant_id = %(tenant_id)s AND changesets.changeset_id = changes.changeset_id
WHERE back.owner = %(owner)s AND back.status = 'active' AND back.deleted_at IS NULL
  AND older.status = 'active' AND older.deleted_at IS NULL
  AND changes.kind = 'restore' AND changes.state = 'applied' AND back.memory_id = ANY(changes.evidence)
  AND changesets.purpose = 'contradiction'
ORDER BY own.memory_id, older.memory_id
