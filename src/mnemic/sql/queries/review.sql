-- What waits for a decision of an owner (curation/reviewing.py): pairs of near duplicates, contradictions, and memories in
-- quarantine. The first memory of a pair is the newer one. Memories are looked up by their ids, and their owners compared
-- afterwards: see changesets.sql. A query reads a bounded number of pairs, also if most of them no longer wait.

-- name: waiting
-- How much waits for a decision, and how many memories were not compared yet; each number is at most `most`.
SELECT
    (
        SELECT count(*) FROM (
            SELECT 1 FROM (
                SELECT memory_id, like_id AS other_id, similarity, found_at FROM state.near_duplicates
                WHERE tenant_id = %(tenant_id)s AND review_owner = %(owner)s AND decision = 'pending'
                ORDER BY memory_id DESC, like_id DESC
                LIMIT %(read_most)s
            ) AS pair
            CROSS JOIN LATERAL (
                SELECT owner, status, deleted_at, branch FROM state.memories
                WHERE memories.tenant_id = %(tenant_id)s AND memories.memory_id = pair.memory_id
                OFFSET 0
            ) AS newer
            CROSS JOIN LATERAL (
                SELECT owner, status, deleted_at, branch FROM state.memories
                WHERE memories.tenant_id = %(tenant_id)s AND memories.memory_id = pair.other_id
                OFFSET 0
            ) AS older
            WHERE newer.owner = %(owner)s AND newer.status = 'active' AND newer.deleted_at IS NULL AND newer.branch IS NULL
              AND older.owner = %(owner)s AND older.status = 'active' AND older.deleted_at IS NULL AND older.branch IS NULL
            LIMIT %(most)s
        ) AS counted
    ) AS near_duplicate_count,
    (
        SELECT count(*) FROM (
            SELECT 1 FROM (
                SELECT newer_id AS memory_id, older_id AS other_id, attribute, reason, certainty, found_at FROM state.outdated_memories
                WHERE tenant_id = %(tenant_id)s AND review_owner = %(owner)s AND decision = 'found'
                ORDER BY newer_id DESC, older_id DESC
                LIMIT %(read_most)s
            ) AS pair
            CROSS JOIN LATERAL (
                SELECT owner, status, deleted_at, branch FROM state.memories
                WHERE memories.tenant_id = %(tenant_id)s AND memories.memory_id = pair.memory_id
                OFFSET 0
            ) AS newer
            CROSS JOIN LATERAL (
                SELECT owner, status, deleted_at, branch FROM state.memories
                WHERE memories.tenant_id = %(tenant_id)s AND memories.memory_id = pair.other_id
                OFFSET 0
            ) AS older
            WHERE newer.owner = %(owner)s AND newer.status = 'active' AND newer.deleted_at IS NULL AND newer.branch IS NULL
              AND older.owner = %(owner)s AND older.status = 'active' AND older.deleted_at IS NULL AND older.branch IS NULL
            LIMIT %(most)s
        ) AS counted
    ) AS contradiction_count,
    (
        SELECT count(*) FROM (
            SELECT 1 FROM state.memories
            WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND status = 'pending_review' AND deleted_at IS NULL
              AND branch IS NULL AND coalesce(chunk_index, 0) = 0
            LIMIT %(most)s
        ) AS counted
    ) AS quarantined_count,
    (
        SELECT count(*) FROM (
            SELECT 1 FROM state.changesets
            JOIN state.memory_changes AS change
                ON change.tenant_id = %(tenant_id)s AND change.changeset_id = changesets.changeset_id
                AND change.state IN ('staged', 'approved')
            WHERE changesets.tenant_id = %(tenant_id)s AND changesets.owner = %(owner)s AND changesets.state = 'staged'
            LIMIT %(most)s
        ) AS counted
    ) AS staged_change_count,
    (
        SELECT count(*) FROM (
            SELECT 1 FROM queue.deduplication_backlog
            WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s
            LIMIT %(most)s
        ) AS counted
    ) AS uncompared_count

-- name: uncompared
-- How many memories of the owner were not compared yet, at most `most`.
SELECT count(*) AS uncompared_count FROM (
    SELECT 1 FROM queue.deduplication_backlog
    WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s
    LIMIT %(most)s
) AS counted

-- name: near_duplicates
-- Near duplicates that wait for a decision, newest first.
SELECT pair.* FROM (
    SELECT memory_id, like_id AS other_id, similarity, found_at FROM state.near_duplicates
    WHERE tenant_id = %(tenant_id)s AND review_owner = %(owner)s AND decision = 'pending'
      AND (memory_id, like_id) < (
          coalesce(%(before_id)s::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
          coalesce(%(before_other_id)s::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
      )
    ORDER BY memory_id DESC, like_id DESC
    LIMIT %(read_most)s
) AS pair
CROSS JOIN LATERAL (
    SELECT owner, status, deleted_at, branch FROM state.memories
    WHERE memories.tenant_id = %(tenant_id)s AND memories.memory_id = pair.memory_id
    OFFSET 0
) AS newer
CROSS JOIN LATERAL (
    SELECT owner, status, deleted_at, branch FROM state.memories
    WHERE memories.tenant_id = %(tenant_id)s AND memories.memory_id = pair.other_id
    OFFSET 0
) AS older
WHERE newer.owner = %(owner)s AND newer.status = 'active' AND newer.deleted_at IS NULL AND newer.branch IS NULL
  AND older.owner = %(owner)s AND older.status = 'active' AND older.deleted_at IS NULL AND older.branch IS NULL
ORDER BY pair.memory_id DESC, pair.other_id DESC
LIMIT %(limit)s

-- name: last_near_duplicate
-- The last pair that `near_duplicates` reads; no row if it reads all.
SELECT memory_id, like_id AS other_id FROM state.near_duplicates
WHERE tenant_id = %(tenant_id)s AND review_owner = %(owner)s AND decision = 'pending'
  AND (memory_id, like_id) < (
      coalesce(%(before_id)s::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
      coalesce(%(before_other_id)s::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
  )
ORDER BY memory_id DESC, like_id DESC
LIMIT 1 OFFSET %(read_most)s - 1

-- name: contradictions
-- Marks that a newer memory gives another value of the same attribute, as long as nobody decided, newest first.
SELECT pair.* FROM (
    SELECT newer_id AS memory_id, older_id AS other_id, attribute, reason, certainty, found_at FROM state.outdated_memories
    WHERE tenant_id = %(tenant_id)s AND review_owner = %(owner)s AND decision = 'found'
      AND (newer_id, older_id) < (
          coalesce(%(before_id)s::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
          coalesce(%(before_other_id)s::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
      )
    ORDER BY newer_id DESC, older_id DESC
    LIMIT %(read_most)s
) AS pair
CROSS JOIN LATERAL (
    SELECT owner, status, deleted_at, branch FROM state.memories
    WHERE memories.tenant_id = %(tenant_id)s AND memories.memory_id = pair.memory_id
    OFFSET 0
) AS newer
CROSS JOIN LATERAL (
    SELECT owner, status, deleted_at, branch FROM state.memories
    WHERE memories.tenant_id = %(tenant_id)s AND memories.memory_id = pair.other_id
    OFFSET 0
) AS older
WHERE newer.owner = %(owner)s AND newer.status = 'active' AND newer.deleted_at IS NULL AND newer.branch IS NULL
  AND older.owner = %(owner)s AND older.status = 'active' AND older.deleted_at IS NULL AND older.branch IS NULL
ORDER BY pair.memory_id DESC, pair.other_id DESC
LIMIT %(limit)s

-- name: last_contradiction
-- The last pair that `contradictions` reads; no row if it reads all.
SELECT newer_id AS memory_id, older_id AS other_id FROM state.outdated_memories
WHERE tenant_id = %(tenant_id)s AND review_owner = %(owner)s AND decision = 'found'
  AND (newer_id, older_id) < (
      coalesce(%(before_id)s::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
      coalesce(%(before_other_id)s::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
  )
ORDER BY newer_id DESC, older_id DESC
LIMIT 1 OFFSET %(read_most)s - 1

-- name: quarantined
-- Memories that wait for review, newest first, each with an active memory that it contradicts, if there is one, and with the
-- change that set it aside.
SELECT claim.memory_id, claim.other_id, change.reason, coalesce(change.applied_at, claim.recorded_at) AS found_at
FROM (
    SELECT waiting.memory_id, waiting.recorded_at, rival.memory_id AS other_id
    FROM (
        SELECT memory_id, recorded_at FROM state.memories
        WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND status = 'pending_review' AND deleted_at IS NULL
          AND branch IS NULL AND coalesce(chunk_index, 0) = 0
          AND memory_id < coalesce(%(before_id)s::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
        ORDER BY memory_id DESC
        LIMIT %(limit)s
    ) AS waiting
    LEFT JOIN LATERAL (
        SELECT found.memory_id
        FROM (
            SELECT to_id AS other_id FROM state.memory_relationships
            WHERE tenant_id = %(tenant_id)s AND from_id = waiting.memory_id AND kind = 'contradicts'
            UNION
            SELECT from_id FROM state.memory_relationships
            WHERE tenant_id = %(tenant_id)s AND to_id = waiting.memory_id AND kind = 'contradicts'
        ) AS edge
        CROSS JOIN LATERAL (
            SELECT memory_id, owner, status, deleted_at FROM state.memories
            WHERE memories.tenant_id = %(tenant_id)s AND memories.memory_id = edge.other_id
            OFFSET 0
        ) AS found
        WHERE found.owner = %(owner)s AND found.status = 'active' AND found.deleted_at IS NULL
        ORDER BY found.memory_id
        LIMIT 1
    ) AS rival ON true
) AS claim
LEFT JOIN LATERAL (
    SELECT reason, applied_at FROM state.memory_changes
    WHERE memory_changes.tenant_id = %(tenant_id)s AND memory_changes.memory_id = claim.memory_id
      AND kind = 'quarantine' AND state = 'applied'
    ORDER BY change_id DESC
    LIMIT 1
) AS change ON true
ORDER BY claim.memory_id DESC

-- name: decide_near_duplicate
-- Records a decision about a pair that waits, or lets it wait again; no row if there is no such pair in that state.
UPDATE state.near_duplicates SET decision = %(decision)s
WHERE tenant_id = %(tenant_id)s AND review_owner = %(owner)s AND memory_id = %(memory_id)s AND like_id = %(other_id)s
  AND decision = %(expected)s
RETURNING memory_id

-- name: decide_contradiction
-- The same for a mark that a newer memory gives another value; its certainty and reason stay.
UPDATE state.outdated_memories
SET decision = %(decision)s, decided_at = CASE WHEN %(decision)s <> 'found' THEN now() END
WHERE tenant_id = %(tenant_id)s AND review_owner = %(owner)s AND newer_id = %(memory_id)s AND older_id = %(other_id)s
  AND decision = %(expected)s
RETURNING newer_id

-- name: contradicts
-- Whether one memory contradicts the other, in either direction.
SELECT 1 AS found FROM state.memory_relationships
WHERE tenant_id = %(tenant_id)s AND kind = 'contradicts'
  AND ((from_id = %(memory_id)s AND to_id = %(other_id)s) OR (from_id = %(other_id)s AND to_id = %(memory_id)s))
LIMIT 1
