-- The curator: candidates with what their signals need, policies, and how far it has read (curation/). Memories are looked up
-- by their ids, and their owners compared afterwards: see changesets.sql.

-- name: cursor
-- The last memory of the owner that the curator has read, and how many changes wait for a decision.
SELECT
    (
        SELECT after_id FROM state.curation_cursors WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s
    ) AS after_id,
    (
        SELECT count(*) FROM state.memory_changes AS change
        JOIN state.changesets
            ON changesets.tenant_id = %(tenant_id)s AND changesets.changeset_id = change.changeset_id
        WHERE changesets.owner = %(owner)s AND changesets.state = 'staged' AND changesets.purpose = 'curation'
          AND change.tenant_id = %(tenant_id)s AND change.state IN ('staged', 'approved')
    ) AS open_count

-- name: move_cursor
-- Records how far the curator has read. The lock serializes the runs of one owner until the transaction ends.
INSERT INTO state.curation_cursors (tenant_id, owner, after_id)
VALUES (%(tenant_id)s, %(owner)s, %(after_id)s)
ON CONFLICT (tenant_id, owner) DO UPDATE SET after_id = excluded.after_id, read_at = now()

-- name: candidates
-- Memories that the curator may propose to change, in the order of their ids: no anchored ones, turns, documents, goals,
-- parts of longer texts or memories of branches. Each with its age and how long it was not used, by the clock of retention; the memory that outdates
-- it most certainly; active memories that it contradicts or resembles; and proposals that must not be made again: open ones
-- by their kind, rejected and undone ones of an unchanged memory also by the memory that would replace it.
WITH clock AS MATERIALIZED (SELECT mnemic.retention_time() AS now)
SELECT
    records.*,
    extract(epoch FROM clock.now - records.created_at) / 86400 AS age_days,
    extract(epoch FROM clock.now - records.recorded_at) / 86400 AS unchanged_days,
    extract(epoch FROM clock.now - coalesce(
        greatest(records.last_retrieved_at, records.last_injected_at), records.created_at
    )) / 86400 AS unused_days,
    marked.newer_id, marked.certainty,
    ARRAY(
        SELECT rival.memory_id
        FROM (
            SELECT to_id AS other_id FROM state.memory_relationships
            WHERE tenant_id = %(tenant_id)s AND from_id = records.memory_id AND kind = 'contradicts'
            UNION
            SELECT from_id FROM state.memory_relationships
            WHERE tenant_id = %(tenant_id)s AND to_id = records.memory_id AND kind = 'contradicts'
        ) AS edge
        CROSS JOIN LATERAL (
            SELECT memory_id, owner, status, deleted_at FROM state.memories
            WHERE memories.tenant_id = %(tenant_id)s AND memories.memory_id = edge.other_id
            OFFSET 0
        ) AS rival
        WHERE rival.owner = %(owner)s AND rival.status = 'active' AND rival.deleted_at IS NULL
        LIMIT %(others_most)s
    ) AS rival_ids,
    near.like_ids, near.similarities,
    (
        SELECT count(*) FROM state.memory_entities AS link
        WHERE link.tenant_id = %(tenant_id)s AND link.memory_id = records.memory_id
    ) AS entity_count,
    ARRAY(
        SELECT DISTINCT concat_ws(
            ' ', change.kind,
            CASE WHEN change.state IN ('rejected', 'undone')
                THEN coalesce(change.fields ->> 'superseded_by', change.fields ->> 'merged_into', '')
            END
        )
        FROM state.memory_changes AS change
        WHERE change.tenant_id = %(tenant_id)s AND change.memory_id = records.memory_id
          AND (
              change.state IN ('staged', 'approved')
              OR (change.state = 'rejected' AND change.version_before = records.version)
              OR (change.state = 'undone' AND change.version_after = records.version - 1)
          )
    ) AS decided
FROM state.memory_records AS records
CROSS JOIN clock
LEFT JOIN LATERAL (
    SELECT mark.newer_id, mark.certainty
    FROM state.outdated_memories AS mark
    CROSS JOIN LATERAL (
        SELECT owner, status, deleted_at, channel FROM state.memories
        WHERE memories.tenant_id = %(tenant_id)s AND memories.memory_id = mark.newer_id
        OFFSET 0
    ) AS newer
    WHERE mark.tenant_id = %(tenant_id)s AND mark.older_id = records.memory_id AND mark.decision <> 'current'
      AND newer.owner = %(owner)s AND newer.status = 'active' AND newer.deleted_at IS NULL
      AND newer.channel = records.channel
    ORDER BY mark.certainty DESC, mark.newer_id DESC
    LIMIT 1
) AS marked ON true
CROSS JOIN LATERAL (
    SELECT
        array_agg(found.memory_id ORDER BY found.similarity DESC, found.memory_id) AS like_ids,
        array_agg(found.similarity ORDER BY found.similarity DESC, found.memory_id) AS similarities
    FROM (
        SELECT alike.memory_id, pair.similarity
        FROM (
            SELECT like_id AS other_id, similarity FROM state.near_duplicates
            WHERE tenant_id = %(tenant_id)s AND memory_id = records.memory_id AND decision <> 'distinct'
            UNION
            SELECT memory_id, similarity FROM state.near_duplicates
            WHERE tenant_id = %(tenant_id)s AND like_id = records.memory_id AND decision <> 'distinct'
        ) AS pair
        CROSS JOIN LATERAL (
            SELECT memory_id, owner, status, deleted_at, channel, category, conversation, whole_id FROM state.memories
            WHERE memories.tenant_id = %(tenant_id)s AND memories.memory_id = pair.other_id
            OFFSET 0
        ) AS alike
        WHERE alike.owner = %(owner)s AND alike.status = 'active' AND alike.deleted_at IS NULL
          AND alike.channel = records.channel AND alike.category = records.category
          AND alike.conversation IS NULL AND alike.whole_id IS NULL
        ORDER BY pair.similarity DESC, alike.memory_id
        LIMIT %(others_most)s
    ) AS found
) AS near
WHERE records.tenant_id = %(tenant_id)s AND records.owner = %(owner)s
  AND records.memory_id > coalesce(%(after_id)s::uuid, '00000000-0000-0000-0000-000000000000')
  AND records.status IN ('active', 'pending_review', 'archived') AND records.deleted_at IS NULL AND NOT records.anchored
  AND records.conversation IS NULL AND records.whole_id IS NULL AND records.branch IS NULL
  AND records.category NOT IN ('episodic', 'reference', 'prospective')
ORDER BY records.memory_id
LIMIT %(limit)s

-- name: unchanged
-- Which of these memories still have the version that the curator has read, and no open proposal of the same kind.
SELECT DISTINCT wanted.memory_id
FROM unnest(%(ids)s::uuid[], %(versions)s::int[], %(kinds)s::text[]) AS wanted (memory_id, version, kind)
CROSS JOIN LATERAL (
    SELECT owner, version FROM state.memories
    WHERE memories.tenant_id = %(tenant_id)s AND memories.memory_id = wanted.memory_id
    OFFSET 0
) AS memories
WHERE memories.owner = %(owner)s AND memories.version = wanted.version
  AND NOT EXISTS (
      SELECT FROM state.memory_changes AS change
      WHERE change.tenant_id = %(tenant_id)s AND change.memory_id = wanted.memory_id AND change.kind = wanted.kind
        AND change.state IN ('staged', 'approved')
  )

-- name: next_owner
-- The next owner with memories, in the order of their names.
SELECT owner FROM state.memories
WHERE tenant_id = %(tenant_id)s AND (%(after)s::text IS NULL OR owner > %(after)s)
ORDER BY owner
LIMIT 1

-- name: policies
-- Kinds that the owner lets the curator apply without asking.
SELECT kind, is_automatic FROM state.curation_policies
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s

-- name: set_policy
-- Sets whether proposals of a kind are applied without asking.
INSERT INTO state.curation_policies (tenant_id, owner, kind, is_automatic)
VALUES (%(tenant_id)s, %(owner)s, %(kind)s, %(is_automatic)s)
ON CONFLICT (tenant_id, owner, kind) DO UPDATE SET is_automatic = excluded.is_automatic, set_at = now()
