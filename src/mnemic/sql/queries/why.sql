-- What a memory rests on, what it replaced and what replaced it (record/why.py). Only memories of the owner are read. They are
-- looked up by their ids, and their owners compared afterwards: see changesets.sql.

-- name: statement
-- What extraction understood, if the memory is a statement.
SELECT subject, attribute, value, is_negated, certainty, tense, extractor FROM state.statements
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND memory_id = %(memory_id)s

-- name: sources
-- What memories rest on: the sources of statements with their quotations, and memories that they were derived from.
SELECT
    found.memory_id AS rests_on_it, source.memory_id, source.content, found.quotation, source.conversation,
    source."position", source.role, source.name, coalesce(source.at, source.created_at) AS at, source.source,
    source.provenance, source.deleted_at IS NOT NULL AS is_forgotten
FROM (
    SELECT pairs.memory_id, pairs.source_id, max(pairs.quotation) AS quotation
    FROM (
        SELECT memory_id, source_id, quotation FROM state.statement_sources
        WHERE tenant_id = %(tenant_id)s AND memory_id = ANY(%(ids)s::uuid[])
        UNION ALL
        SELECT from_id, to_id, NULL FROM state.memory_relationships
        WHERE tenant_id = %(tenant_id)s AND from_id = ANY(%(ids)s::uuid[]) AND kind = 'derived_from'
    ) AS pairs
    GROUP BY pairs.memory_id, pairs.source_id
) AS found
CROSS JOIN LATERAL (
    SELECT * FROM state.memories
    WHERE memories.tenant_id = %(tenant_id)s AND memories.memory_id = found.source_id
    OFFSET 0
) AS source
WHERE source.owner = %(owner)s
ORDER BY coalesce(source.at, source.created_at), source.memory_id, found.memory_id
LIMIT %(limit)s

-- name: derived
-- The newest memories that rest on this one: statements that were made from it, and others that were derived from it.
SELECT
    made.memory_id, made.content, found.quotation, made.status, made.deleted_at IS NOT NULL AS is_forgotten
FROM (
    SELECT pairs.memory_id, max(pairs.quotation) AS quotation
    FROM (
        SELECT memory_id, quotation FROM state.statement_sources
        WHERE tenant_id = %(tenant_id)s AND source_id = %(memory_id)s
        UNION ALL
        SELECT from_id, NULL FROM state.memory_relationships
        WHERE tenant_id = %(tenant_id)s AND to_id = %(memory_id)s AND kind = 'derived_from'
    ) AS pairs
    GROUP BY pairs.memory_id
    ORDER BY pairs.memory_id DESC
    LIMIT %(limit)s
) AS found
CROSS JOIN LATERAL (
    SELECT * FROM state.memories
    WHERE memories.tenant_id = %(tenant_id)s AND memories.memory_id = found.memory_id
    OFFSET 0
) AS made
WHERE made.owner = %(owner)s
ORDER BY made.memory_id DESC

-- name: replaced
-- Memories that this one superseded or that were merged into it, newest first, with the change that did it.
SELECT
    old.memory_id, old.content, CASE WHEN old.superseded_by = %(memory_id)s THEN 'superseded' ELSE 'merged' END AS how,
    change.change_reason AS reason, change.changed_by, change.recorded_at AS replaced_at
FROM (
    SELECT memory_id, content, superseded_by, merged_into FROM state.memories
    WHERE tenant_id = %(tenant_id)s AND owner || '' = %(owner)s AND superseded_by = %(memory_id)s
    UNION
    SELECT memory_id, content, superseded_by, merged_into FROM state.memories
    WHERE tenant_id = %(tenant_id)s AND owner || '' = %(owner)s AND merged_into = %(memory_id)s
) AS old
CROSS JOIN LATERAL (
    SELECT history.change_reason, history.changed_by, history.recorded_at
    FROM state.memory_history AS history
    WHERE history.tenant_id = %(tenant_id)s AND history.memory_id = old.memory_id
      AND (history.superseded_by = %(memory_id)s OR history.merged_into = %(memory_id)s)
    ORDER BY history.version
    LIMIT 1
) AS change
ORDER BY change.recorded_at DESC, old.memory_id
LIMIT %(limit)s

-- name: replaced_by
-- The memory that took the place of this one, with the change that did it; no row if none did.
SELECT
    new.memory_id, new.content, CASE WHEN old.superseded_by = new.memory_id THEN 'superseded' ELSE 'merged' END AS how,
    change.change_reason AS reason, change.changed_by, change.recorded_at AS replaced_at
FROM (
    SELECT memory_id, superseded_by, coalesce(superseded_by, merged_into) AS next_id FROM state.memories
    WHERE tenant_id = %(tenant_id)s AND owner || '' = %(owner)s AND memory_id = %(memory_id)s
    OFFSET 0
) AS old
CROSS JOIN LATERAL (
    SELECT memory_id, owner, content FROM state.memories
    WHERE memories.tenant_id = %(tenant_id)s AND memories.memory_id = old.next_id
    OFFSET 0
) AS new
CROSS JOIN LATERAL (
    SELECT history.change_reason, history.changed_by, history.recorded_at
    FROM state.memory_history AS history
    WHERE history.tenant_id = %(tenant_id)s AND history.memory_id = old.memory_id
      AND (history.superseded_by = new.memory_id OR history.merged_into = new.memory_id)
    ORDER BY history.version
    LIMIT 1
) AS change
WHERE new.owner = %(owner)s

-- name: contradicted_by
-- Active memories that contradict this one, or that it contradicts.
SELECT rival.memory_id
FROM (
    SELECT to_id AS other_id FROM state.memory_relationships
    WHERE tenant_id = %(tenant_id)s AND from_id = %(memory_id)s AND kind = 'contradicts'
    UNION
    SELECT from_id FROM state.memory_relationships
    WHERE tenant_id = %(tenant_id)s AND to_id = %(memory_id)s AND kind = 'contradicts'
) AS edge
CROSS JOIN LATERAL (
    SELECT memory_id, owner, status, deleted_at FROM state.memories
    WHERE memories.tenant_id = %(tenant_id)s AND memories.memory_id = edge.other_id
    OFFSET 0
) AS rival
WHERE rival.owner = %(owner)s AND rival.status = 'active' AND rival.deleted_at IS NULL
ORDER BY rival.memory_id
LIMIT %(limit)s

-- name: changes
-- Changes of a memory in the change log, newest first.
SELECT
    change.changeset_id, change.change_id, changesets.purpose, change.kind, change.state, change.reason,
    changesets.created_at AS proposed_at
FROM state.memory_changes AS change
JOIN state.changesets
    ON changesets.tenant_id = %(tenant_id)s AND changesets.owner = %(owner)s
    AND changesets.changeset_id = change.changeset_id
WHERE change.tenant_id = %(tenant_id)s AND change.owner = %(owner)s AND change.memory_id = %(memory_id)s
ORDER BY change.change_id DESC
LIMIT %(limit)s
