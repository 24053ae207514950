-- Promotions: memories that were moved to `_global` because they are certain and were useful in several conversations. What
-- speaks for a memory is in the view state.promotion_evidence.

-- name: candidates
-- Memories that reach all thresholds, in the order of their ids, a page at a time; or those among `ids`. Not turns, goals, chunks of
-- long texts, memories that end, are outdated or are in a branch, or whose promotion a person has undone. A grant that names
-- their channel or `_global` keeps them where they are: promotion must not change who may read a memory. Only memories that
-- were used have a row in state.recall_counts, so the others are never read.
SELECT evidence.memory_id, evidence.owner, evidence.channel, evidence.confidence, evidence.uses, evidence.conversations,
    evidence.usefulness
FROM state.recall_counts AS counts
JOIN state.memories ON memories.tenant_id = %(tenant_id)s AND memories.memory_id = counts.memory_id
JOIN state.promotion_evidence AS evidence
    ON evidence.tenant_id = %(tenant_id)s AND evidence.memory_id = counts.memory_id
WHERE counts.tenant_id = %(tenant_id)s AND counts.memory_id > %(after)s
  AND (%(ids)s::uuid[] IS NULL OR counts.memory_id = ANY(%(ids)s::uuid[]))
  AND (%(owner)s::text IS NULL OR memories.owner = %(owner)s)
  AND memories.channel <> '_global' AND memories.branch IS NULL AND memories.conversation IS NULL
  AND memories.whole_id IS NULL
  AND memories.category <> 'prospective'
  AND memories.status = 'active' AND memories.deleted_at IS NULL AND memories.expires_at IS NULL
  AND (memories.valid_to IS NULL OR memories.valid_to > now())
  AND memories.confidence >= %(confidence)s::real
  AND evidence.uses >= %(uses)s AND evidence.usefulness >= %(usefulness)s::real
  AND evidence.conversations >= %(conversations)s
  AND NOT EXISTS (
      SELECT FROM state.promotions
      WHERE promotions.tenant_id = %(tenant_id)s AND promotions.memory_id = counts.memory_id
        AND promotions.state <> 'demoted'
  )
  AND NOT EXISTS (
      SELECT FROM state.outdated_memories AS marked
      WHERE marked.tenant_id = %(tenant_id)s AND marked.older_id = counts.memory_id AND marked.decision <> 'current'
  )
  AND NOT EXISTS (
      SELECT FROM state.grants
      WHERE grants.tenant_id = %(tenant_id)s AND grants.owner = memories.owner
        AND grants.channel IN ('_global', memories.channel)
        AND coalesce(grants.revoked_at, grants.dropped_at) IS NULL
        AND (grants.expires_at IS NULL OR grants.expires_at > now())
  )
ORDER BY counts.memory_id
LIMIT %(limit)s

-- name: add
-- Records the promotion of a memory, with the thresholds and what was measured.
INSERT INTO state.promotions (tenant_id, memory_id, owner, origin_channel, thresholds, measured, changeset_id)
VALUES (%(tenant_id)s, %(memory_id)s, %(owner)s, %(origin_channel)s, %(thresholds)s, %(measured)s, %(changeset_id)s)
ON CONFLICT (tenant_id, memory_id) DO UPDATE
SET state = 'promoted', origin_channel = excluded.origin_channel, thresholds = excluded.thresholds,
    measured = excluded.measured, changeset_id = excluded.changeset_id, promoted_at = excluded.promoted_at,
    ended_at = NULL, ending_reason = NULL

-- name: promoted
-- Memories that are promoted, with the thresholds of then and what speaks for them now, a page at a time; or those among
-- `ids`. `is_granted` says whether a grant names the channel that the memory came from.
SELECT promotions.memory_id, promotions.owner, promotions.origin_channel, promotions.thresholds, evidence.channel,
    evidence.status, evidence.deleted_at, evidence.confidence, evidence.uses, evidence.conversations, evidence.usefulness,
    EXISTS (
        SELECT FROM state.grants
        WHERE grants.tenant_id = %(tenant_id)s AND grants.owner = promotions.owner
          AND grants.channel = promotions.origin_channel AND coalesce(grants.revoked_at, grants.dropped_at) IS NULL
          AND (grants.expires_at IS NULL OR grants.expires_at > now())
    ) AS is_granted
FROM state.promotions
JOIN state.promotion_evidence AS evidence
    ON evidence.tenant_id = %(tenant_id)s AND evidence.memory_id = promotions.memory_id
WHERE promotions.tenant_id = %(tenant_id)s AND promotions.state = 'promoted' AND promotions.memory_id > %(after)s
  AND (%(ids)s::uuid[] IS NULL OR promotions.memory_id = ANY(%(ids)s::uuid[]))
  AND (%(owner)s::text IS NULL OR promotions.owner = %(owner)s)
ORDER BY promotions.memory_id
LIMIT %(limit)s

-- name: end
-- Ends a promotion.
UPDATE state.promotions
SET state = %(state)s, ended_at = now(), ending_reason = %(reason)s
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND memory_id = %(memory_id)s AND state = 'promoted'

-- name: list
-- Promotions of an owner, newest memories first, a page at a time.
SELECT memory_id, state, origin_channel, thresholds, measured, changeset_id, promoted_at, ended_at, ending_reason
FROM state.promotions
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s
  AND memory_id < coalesce(%(before)s::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
ORDER BY memory_id DESC
LIMIT %(limit)s
