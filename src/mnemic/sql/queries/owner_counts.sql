-- How much each owner holds, as it was last counted (govern/owner_counts.py).

-- name: by_name
-- Owners with a prefix, in the order of their names. The two comparisons find the range in the index; starts_with() alone could
-- not be an index condition under row-level security.
SELECT owner, memory_count, active_memory_count, conversation_count, document_count, entity_count, text_bytes,
    last_activity_at, counted_at, counted_position IS NOT DISTINCT FROM changed_position AS is_current
FROM traces.owner_counts
WHERE tenant_id = %(tenant_id)s
  AND owner >= %(prefix)s AND owner < %(prefix)s || chr(1114111) AND starts_with(owner, %(prefix)s)
  AND owner > %(after)s
ORDER BY owner
LIMIT %(limit)s

-- name: by_memories
-- The same, most memories first. `after_count` and `after` are the last row of the previous page.
SELECT owner, memory_count, active_memory_count, conversation_count, document_count, entity_count, text_bytes,
    last_activity_at, counted_at, counted_position IS NOT DISTINCT FROM changed_position AS is_current
FROM traces.owner_counts
WHERE tenant_id = %(tenant_id)s AND starts_with(owner, %(prefix)s)
  AND (%(after_count)s::bigint IS NULL OR (memory_count, owner) < (%(after_count)s, %(after)s COLLATE "C"))
ORDER BY memory_count DESC, owner DESC
LIMIT %(limit)s

-- name: by_activity
-- The same, latest activity first.
SELECT owner, memory_count, active_memory_count, conversation_count, document_count, entity_count, text_bytes,
    last_activity_at, counted_at, counted_position IS NOT DISTINCT FROM changed_position AS is_current
FROM traces.owner_counts
WHERE tenant_id = %(tenant_id)s AND starts_with(owner, %(prefix)s)
  AND (
      %(after_at)s::timestamptz IS NULL
      OR (last_activity_at, owner) < (%(after_at)s, %(after)s COLLATE "C")
  )
ORDER BY last_activity_at DESC, owner DESC
LIMIT %(limit)s

-- name: cursor
-- The sort keys of an owner: where a page after it begins.
SELECT memory_count AS after_count, last_activity_at AS after_at
FROM traces.owner_counts
WHERE tenant_id = %(tenant_id)s AND owner = %(after)s

-- name: changed
-- Owners that changed since they were counted, a page at a time.
SELECT owner, changed_position FROM traces.owner_counts
WHERE tenant_id = %(tenant_id)s AND counted_position IS DISTINCT FROM changed_position AND owner > %(after)s
ORDER BY owner
LIMIT %(limit)s

-- name: changed_small
-- Those of them, from a name on, that are quick to count: few memories each, and not too many together.
SELECT owner, changed_position
FROM (
    SELECT changed.owner, changed.changed_position, sum(held.memory_count) OVER (ORDER BY changed.owner) AS total_count
    FROM (
        SELECT owner, changed_position FROM traces.owner_counts
        WHERE tenant_id = %(tenant_id)s AND counted_position IS DISTINCT FROM changed_position
            AND owner >= %(first)s
        ORDER BY owner
        LIMIT %(limit)s
    ) AS changed
    CROSS JOIN LATERAL (
        SELECT count(*) AS memory_count
        FROM (
            SELECT FROM state.memories
            WHERE memories.tenant_id = %(tenant_id)s AND memories.owner = changed.owner
            LIMIT %(memories_most)s + 1
        ) AS bounded
    ) AS held
    WHERE held.memory_count <= %(memories_most)s
) AS small
WHERE total_count <= %(total_most)s
ORDER BY owner

-- name: count
-- Counts everything of some owners.
SELECT
    given.owner, given.changed_position, memories.memory_count, memories.active_memory_count, memories.text_bytes,
    (SELECT count(*) FROM state.memory_versions
        WHERE memory_versions.tenant_id = %(tenant_id)s AND memory_versions.owner = given.owner) AS earlier_version_count,
    (SELECT count(*) FROM state.conversations
        WHERE conversations.tenant_id = %(tenant_id)s AND conversations.owner = given.owner) AS conversation_count,
    (SELECT count(*) FROM state.reference_documents
        WHERE reference_documents.tenant_id = %(tenant_id)s AND reference_documents.owner = given.owner) AS document_count,
    (SELECT count(*) FROM state.entities
        WHERE entities.tenant_id = %(tenant_id)s AND entities.owner = given.owner) AS entity_count
FROM unnest(%(owners)s::text[], %(positions)s::bigint[]) AS given (owner, changed_position)
CROSS JOIN LATERAL (
    SELECT
        count(*) AS memory_count,
        count(*) FILTER (WHERE status = 'active' AND deleted_at IS NULL) AS active_memory_count,
        coalesce(sum(octet_length(content)), 0)::bigint AS text_bytes
    FROM state.memories
    WHERE memories.tenant_id = %(tenant_id)s AND memories.owner = given.owner
) AS memories

-- name: save
-- Stores the counts of some owners. Rows are locked in the order of names, as in mnemic.sequence_events, to avoid deadlocks;
-- an owner that was erased meanwhile gets no row.
WITH locked AS (
    SELECT owner FROM traces.owner_counts
    WHERE tenant_id = %(tenant_id)s AND owner = ANY (%(owners)s::text[])
    ORDER BY owner
    FOR UPDATE
)
UPDATE traces.owner_counts
SET counted_position = counted.changed_position, counted_at = clock_timestamp(),
    memory_count = counted.memory_count, active_memory_count = counted.active_memory_count,
    earlier_version_count = counted.earlier_version_count, conversation_count = counted.conversation_count,
    document_count = counted.document_count, entity_count = counted.entity_count, text_bytes = counted.text_bytes
FROM locked
JOIN jsonb_to_recordset(%(counts)s) AS counted (
    owner text, changed_position bigint, memory_count bigint, active_memory_count bigint, earlier_version_count bigint,
    conversation_count bigint, document_count bigint, entity_count bigint, text_bytes bigint
) ON counted.owner = locked.owner
WHERE owner_counts.tenant_id = %(tenant_id)s AND owner_counts.owner = locked.owner

-- name: totals
-- One row: the counts of all owners together, the time of the oldest count, and whether one of them was never counted.
SELECT
    coalesce(sum(memory_count), 0)::bigint AS memory_count,
    coalesce(sum(active_memory_count), 0)::bigint AS active_memory_count,
    coalesce(sum(earlier_version_count), 0)::bigint AS earlier_version_count,
    coalesce(sum(conversation_count), 0)::bigint AS conversation_count,
    coalesce(sum(entity_count), 0)::bigint AS entity_count,
    coalesce(sum(document_count), 0)::bigint AS document_count,
    (SELECT count(*) FROM state.near_duplicates
        WHERE near_duplicates.tenant_id = %(tenant_id)s AND decision = 'pending') AS pending_near_duplicate_count,
    (SELECT count(*) FROM queue.embedding_backlog
        WHERE embedding_backlog.tenant_id = %(tenant_id)s AND gave_up_at IS NULL) AS awaiting_embedding_count,
    coalesce(
        min(counted_at) FILTER (WHERE counted_position IS DISTINCT FROM changed_position), now()
    ) AS counted_at
FROM traces.owner_counts
WHERE owner_counts.tenant_id = %(tenant_id)s
