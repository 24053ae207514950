-- Memories that could be archived (curation/cleaning.py). The queries `read_…` return the next memories in the order of their
-- ids, at most `read_most`; `qualifying` decides which of these, or of the memories that a caller names, qualify.

-- name: read_category
-- Active memories of a category that cleanup may archive: no anchored ones, turns, parts of longer texts or memories of branches.
-- Sorting by a category that is a range for the planner needs the index by category: reading the memories of an owner in the
-- order of their ids would pass all turns.
SELECT memory_id FROM state.memories
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND category BETWEEN %(section)s AND %(section)s
  AND memory_id > coalesce(%(after_id)s::uuid, '00000000-0000-0000-0000-000000000000')
  AND status = 'active' AND deleted_at IS NULL AND NOT anchored
  AND conversation IS NULL AND whole_id IS NULL AND branch IS NULL
ORDER BY category DESC, memory_id
LIMIT %(read_most)s

-- name: read_expired
-- Expired memories. The daily cleanup archives them, so there are few.
SELECT memory_id FROM state.memories
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND expires_at IS NOT NULL AND expires_at <= now()
  AND memory_id > coalesce(%(after_id)s::uuid, '00000000-0000-0000-0000-000000000000')
  AND status IN ('active', 'pending_review') AND deleted_at IS NULL
ORDER BY memory_id
LIMIT %(read_most)s

-- name: read_replaced
-- Memories that were replaced by one that is forgotten.
SELECT DISTINCT old.memory_id
FROM (
    SELECT memory_id FROM state.memories
    WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND deleted_at IS NOT NULL
) AS forgotten
CROSS JOIN LATERAL (
    SELECT memory_id FROM state.memories
    WHERE memories.tenant_id = %(tenant_id)s AND memories.superseded_by = forgotten.memory_id
    UNION ALL
    SELECT memory_id FROM state.memories
    WHERE memories.tenant_id = %(tenant_id)s AND memories.merged_into = forgotten.memory_id
) AS old
WHERE old.memory_id > coalesce(%(after_id)s::uuid, '00000000-0000-0000-0000-000000000000')
ORDER BY old.memory_id
LIMIT %(read_most)s

-- name: read_evidenced
-- Memories that name evidence.
SELECT memory_id FROM state.memories
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND evidence <> '{}' AND deleted_at IS NULL
  AND memory_id > coalesce(%(after_id)s::uuid, '00000000-0000-0000-0000-000000000000')
ORDER BY memory_id
LIMIT %(read_most)s

-- name: qualifying
-- Those of these memories that qualify for a kind of cleanup, with the time of their last use and evidence that leads to
-- nothing. A reference leads to nothing if it is an id of Mnemic (version 7) and the owner can read no such memory any more.
WITH clock AS MATERIALIZED (
    SELECT (SELECT mnemic.retention_time()) - make_interval(days => %(unused_days)s) AS used_before
)
SELECT found.memory_id, facts.used_at, facts.dead_references, found.status
FROM unnest(%(ids)s::uuid[]) AS given (memory_id)
CROSS JOIN clock
CROSS JOIN LATERAL (
    SELECT
        memory_id, owner, category, status, deleted_at, anchored, conversation, whole_id, chunk_index, branch, evidence, expires_at,
        superseded_by, merged_into, salience, created_at, last_injected_at
    FROM state.memories
    WHERE memories.tenant_id = %(tenant_id)s AND memories.memory_id = given.memory_id
    OFFSET 0
) AS found
LEFT JOIN LATERAL (
    SELECT retrieval_count, last_retrieved_at, useful_count, not_useful_count, last_useful_at FROM state.recall_counts
    WHERE recall_counts.tenant_id = %(tenant_id)s AND recall_counts.memory_id = given.memory_id
    OFFSET 0
) AS counts ON true
CROSS JOIN LATERAL (
    SELECT
        coalesce(greatest(counts.last_retrieved_at, found.last_injected_at), found.created_at) AS used_at,
        coalesce(counts.last_retrieved_at, found.last_injected_at) IS NOT NULL AS is_recalled,
        CASE WHEN %(kind)s = 'dead_links' THEN ARRAY(
            SELECT named.reference
            FROM unnest(found.evidence) WITH ORDINALITY AS named (reference, place)
            WHERE CASE
                WHEN named.reference ~* '^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$'
                THEN NOT EXISTS (
                    SELECT FROM state.memories AS cited
                    WHERE cited.tenant_id = %(tenant_id)s AND cited.memory_id = named.reference::uuid
                      AND cited.deleted_at IS NULL
                )
                ELSE false
            END
            ORDER BY named.place
        ) END AS dead_references
    OFFSET 0
) AS facts
WHERE found.owner = %(owner)s AND found.deleted_at IS NULL AND NOT found.anchored AND found.branch IS NULL
  AND CASE %(kind)s
      WHEN 'expired' THEN
          found.status IN ('active', 'pending_review') AND found.expires_at <= now() AND coalesce(found.chunk_index, 0) = 0
      WHEN 'dead_links' THEN
          (facts.dead_references <> '{}' AND found.status IN ('active', 'pending_review'))
          OR (
              found.status IN ('superseded', 'merged') AND coalesce(found.chunk_index, 0) = 0
              AND EXISTS (
                  SELECT FROM state.memories AS successor
                  WHERE successor.tenant_id = %(tenant_id)s
                    AND successor.memory_id = coalesce(found.superseded_by, found.merged_into)
                    AND successor.deleted_at IS NOT NULL
              )
          )
      ELSE
          found.status = 'active' AND found.conversation IS NULL AND found.whole_id IS NULL
          AND found.category = ANY(%(categories)s::text[]) AND facts.used_at < clock.used_before
          AND CASE %(kind)s
              WHEN 'never_recalled' THEN NOT facts.is_recalled
              ELSE facts.is_recalled AND mnemic.salience(
                  found.salience, found.category, found.conversation, found.anchored, found.created_at,
                  counts.retrieval_count, counts.last_retrieved_at, counts.useful_count, counts.not_useful_count,
                  counts.last_useful_at, now()
              ) < %(salience_below)s
          END
  END
ORDER BY found.memory_id

-- name: counts
-- How many memories each kind found when they were last counted.
SELECT kind, memory_count, is_complete, counted_at FROM traces.cleanup_counts
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s

-- name: save_counts
-- Stores the counts of an owner.
INSERT INTO traces.cleanup_counts (tenant_id, owner, kind, memory_count, is_complete)
SELECT %(tenant_id)s, %(owner)s, counted.kind, counted.memory_count, counted.is_complete
FROM unnest(%(kinds)s::text[], %(memory_counts)s::int[], %(are_complete)s::boolean[])
    AS counted (kind, memory_count, is_complete)
ORDER BY counted.kind
ON CONFLICT (tenant_id, owner, kind) DO UPDATE
SET memory_count = excluded.memory_count, is_complete = excluded.is_complete, counted_at = now()
