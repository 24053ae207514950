-- Grants between owners. A grant is active until it expires or is revoked; it is never deleted.

-- name: hold_reader
-- Serializes grants to one owner, so that the limit on active grants is exact.
SELECT pg_advisory_xact_lock(hashtextextended(%(tenant_id)s::text || %(granted_to)s::text, 0))

-- name: grant
-- Adds a grant and returns it; no row if the reader has `active_max` active grants already.
INSERT INTO state.grants (tenant_id, grant_id, owner, granted_to, channel, categories, tags, conversation, expires_at,
    process, reason)
SELECT %(tenant_id)s, %(grant_id)s, %(owner)s, %(granted_to)s, %(channel)s, %(categories)s::text[], %(tags)s::text[],
    %(conversation)s, %(expires_at)s::timestamptz, %(process)s, %(reason)s
WHERE %(active_max)s > (
    SELECT count(*) FROM state.grants
    WHERE grants.tenant_id = %(tenant_id)s AND granted_to = %(granted_to)s AND revoked_at IS NULL
      AND (expires_at IS NULL OR expires_at > statement_timestamp())
)
RETURNING grant_id, owner, granted_to, channel, categories, tags, conversation, expires_at, process, reason,
    created_at, revoked_at, revoking_reason

-- name: get
-- One grant that an owner gave.
SELECT grant_id, owner, granted_to, channel, categories, tags, conversation, expires_at, process, reason,
    created_at, revoked_at, revoking_reason
FROM state.grants
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND grant_id = %(grant_id)s

-- name: revoke
-- Revokes a grant that an owner gave; changes nothing if it is revoked already.
UPDATE state.grants
SET revoked_at = now(), revoking_reason = %(reason)s
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND grant_id = %(grant_id)s AND revoked_at IS NULL

-- name: readable
-- For recall: the grants that let an owner read now, oldest first. Revocation and expiry take effect with the next
-- statement.
SELECT grant_id, owner, channel, categories, tags, conversation
FROM state.grants
WHERE tenant_id = %(tenant_id)s AND granted_to = %(granted_to)s AND revoked_at IS NULL
  AND (expires_at IS NULL OR expires_at > statement_timestamp())
ORDER BY grant_id

-- name: cursor
-- The pagination cursor of a row: its sort key.
SELECT created_at AS before_at, grant_id AS before_id
FROM state.grants
WHERE tenant_id = %(tenant_id)s AND grant_id = %(before)s
  AND (%(given)s AND owner = %(owner)s OR %(received)s AND granted_to = %(owner)s)

-- name: list
-- Grants that an owner gave, received, or both, newest first, starting after the cursor (before_at, before_id). Two
-- lists, each by its own index, then merged; no grant is in both, since nobody grants to themselves.
SELECT grant_id, owner, granted_to, channel, categories, tags, conversation, expires_at, process, reason,
    created_at, revoked_at, revoking_reason
FROM (
    (
        SELECT * FROM state.grants
        WHERE grants.tenant_id = %(tenant_id)s AND %(given)s AND owner = %(owner)s
          AND (created_at, grant_id) < (coalesce(%(before_at)s::timestamptz, 'infinity'), %(before_id)s::uuid)
          AND (
              %(include_ended)s
              OR revoked_at IS NULL AND (expires_at IS NULL OR expires_at > statement_timestamp())
          )
        ORDER BY created_at DESC, grant_id DESC
        LIMIT %(limit)s
    )
    UNION ALL
    (
        SELECT * FROM state.grants
        WHERE grants.tenant_id = %(tenant_id)s AND %(received)s AND granted_to = %(owner)s
          AND (created_at, grant_id) < (coalesce(%(before_at)s::timestamptz, 'infinity'), %(before_id)s::uuid)
          AND (
              %(include_ended)s
              OR revoked_at IS NULL AND (expires_at IS NULL OR expires_at > statement_timestamp())
          )
        ORDER BY created_at DESC, grant_id DESC
        LIMIT %(limit)s
    )
) AS found
ORDER BY created_at DESC, grant_id DESC
LIMIT %(limit)s
