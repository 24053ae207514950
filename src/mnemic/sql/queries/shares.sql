-- Grants between owners. A grant is offered until its reader accepts it, and then active until it expires, is dropped by
-- its reader or revoked by its giver; it is never deleted. mnemic.grant_state() computes the state.

-- name: hold_giver
-- Serializes the grants of one giver, so that the limits per giver are exact. Held before hold_reader, to avoid deadlocks.
SELECT pg_advisory_xact_lock(hashtextextended(%(tenant_id)s::text || %(owner)s::text, 1))

-- name: hold_reader
-- Serializes grants to one owner and their acceptance, so that the limits per reader are exact.
SELECT pg_advisory_xact_lock(hashtextextended(%(tenant_id)s::text || %(granted_to)s::text, 0))

-- name: counts
-- What the limits count: open and active grants of the giver, and of the giver to this reader; open offers to the reader,
-- and of the giver to this reader; active grants of the reader. Those of a giver are found by the index grants_held, which
-- repeats their coalesce(); those of a reader by grants_offered and grants_readable.
SELECT
    (
        SELECT count(*) FROM state.grants
        WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND coalesce(revoked_at, dropped_at) IS NULL
          AND (expires_at IS NULL OR expires_at > statement_timestamp())
    ) AS of_giver,
    (
        SELECT count(*) FROM state.grants
        WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND granted_to = %(granted_to)s
          AND coalesce(revoked_at, dropped_at) IS NULL
          AND (expires_at IS NULL OR expires_at > statement_timestamp())
    ) AS of_pair,
    (
        SELECT count(*) FROM state.grants
        WHERE tenant_id = %(tenant_id)s AND granted_to = %(granted_to)s
          AND accepted_at IS NULL AND revoked_at IS NULL AND dropped_at IS NULL
          AND (expires_at IS NULL OR expires_at > statement_timestamp())
    ) AS offers_to_reader,
    (
        SELECT count(*) FROM state.grants
        WHERE tenant_id = %(tenant_id)s AND granted_to = %(granted_to)s AND owner = %(owner)s
          AND accepted_at IS NULL AND revoked_at IS NULL AND dropped_at IS NULL
          AND (expires_at IS NULL OR expires_at > statement_timestamp())
    ) AS offers_of_pair,
    (
        SELECT count(*) FROM state.grants
        WHERE tenant_id = %(tenant_id)s AND granted_to = %(granted_to)s
          AND accepted_at IS NOT NULL AND revoked_at IS NULL AND dropped_at IS NULL
          AND (expires_at IS NULL OR expires_at > statement_timestamp())
    ) AS active_of_reader,
    (SELECT grant_policy FROM state.tenants WHERE tenant_id = %(tenant_id)s) AS grant_policy

-- name: group_count
-- How many active grants a group has.
SELECT count(*) AS active_count FROM state.grants
WHERE tenant_id = %(tenant_id)s AND granted_to_group = %(granted_to_group)s AND revoked_at IS NULL
  AND (expires_at IS NULL OR expires_at > statement_timestamp())

-- name: grant
-- Adds a grant to an owner or to a group; accepted at once if `is_accepted`.
INSERT INTO state.grants (tenant_id, grant_id, owner, granted_to, granted_to_group, channel, categories, tags,
    conversation, expires_at, process, reason, accepted_at)
VALUES (%(tenant_id)s, %(grant_id)s, %(owner)s, %(granted_to)s::text, %(granted_to_group)s::text, %(channel)s,
    %(categories)s::text[], %(tags)s::text[], %(conversation)s, %(expires_at)s::timestamptz, %(process)s, %(reason)s,
    CASE WHEN %(is_accepted)s THEN now() END)

-- name: get
-- One grant that an owner gave.
SELECT grant_id, owner, channel, categories, tags, conversation, granted_to, expires_at, process, reason, created_at,
    revoked_at, revoking_reason, granted_to_group, accepted_at, dropped_at,
    mnemic.grant_state(accepted_at, expires_at, dropped_at, revoked_at) AS state
FROM state.grants
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND grant_id = %(grant_id)s

-- name: get_received
-- One grant to an owner, or to a group that it is in or was in when it dropped the grant; as the owner sees it.
SELECT grants.grant_id, grants.owner, channel, categories, tags, conversation, granted_to, expires_at, process, reason,
    created_at, revoked_at, revoking_reason, granted_to_group, accepted_at,
    coalesce(grants.dropped_at, dropped.dropped_at) AS dropped_at,
    mnemic.grant_state(accepted_at, expires_at, coalesce(grants.dropped_at, dropped.dropped_at), revoked_at) AS state
FROM state.grants
LEFT JOIN state.dropped_group_grants AS dropped
    ON dropped.tenant_id = grants.tenant_id AND dropped.grant_id = grants.grant_id AND dropped.owner = %(owner)s
WHERE grants.tenant_id = %(tenant_id)s AND grants.grant_id = %(grant_id)s
  AND (
      granted_to = %(owner)s OR dropped.owner IS NOT NULL
      OR granted_to_group = ANY (mnemic.groups_of(%(tenant_id)s, %(owner)s)) AND grants.owner <> %(owner)s
  )

-- name: accept
-- Accepts an open offer; changes nothing if it is none any more, or the reader has `active_max` active grants already.
UPDATE state.grants
SET accepted_at = now()
WHERE tenant_id = %(tenant_id)s AND granted_to = %(granted_to)s AND grant_id = %(grant_id)s
  AND accepted_at IS NULL AND revoked_at IS NULL AND dropped_at IS NULL
  AND (expires_at IS NULL OR expires_at > statement_timestamp())
  AND %(active_max)s > (
      SELECT count(*) FROM state.grants AS held
      WHERE held.tenant_id = %(tenant_id)s AND held.granted_to = %(granted_to)s
        AND held.accepted_at IS NOT NULL AND held.revoked_at IS NULL AND held.dropped_at IS NULL
        AND (held.expires_at IS NULL OR held.expires_at > statement_timestamp())
  )

-- name: drop
-- Ends a grant to an owner, offered or active; changes nothing if it has been revoked or dropped.
UPDATE state.grants
SET dropped_at = now()
WHERE tenant_id = %(tenant_id)s AND granted_to = %(owner)s AND grant_id = %(grant_id)s
  AND revoked_at IS NULL AND dropped_at IS NULL

-- name: drop_group_grant
-- Ends a grant to a group for one member; changes nothing if the member has dropped it already.
INSERT INTO state.dropped_group_grants (tenant_id, grant_id, owner)
VALUES (%(tenant_id)s, %(grant_id)s, %(owner)s)
ON CONFLICT DO NOTHING

-- name: revoke
-- Revokes a grant that an owner gave; changes nothing if it has been revoked or dropped.
UPDATE state.grants
SET revoked_at = now(), revoking_reason = %(reason)s
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND grant_id = %(grant_id)s
  AND revoked_at IS NULL AND dropped_at IS NULL

-- name: revoke_group
-- Revokes all grants to a group, when it is deleted.
UPDATE state.grants
SET revoked_at = now(), revoking_reason = 'the group was deleted'
WHERE tenant_id = %(tenant_id)s AND granted_to_group = %(group)s AND revoked_at IS NULL

-- name: readable
-- For recall: the grants that let an owner read now; the first of each giver, then the second ones, and so on. Acceptance,
-- revocation, dropping and expiry take effect with the next statement.
SELECT grant_id, owner, channel, categories, tags, conversation
FROM mnemic.readable_grants(%(tenant_id)s, %(granted_to)s)
ORDER BY place, grant_id

-- name: cursor
-- The pagination cursor of a row: its sort key.
SELECT created_at AS before_at, grant_id AS before_id
FROM state.grants
WHERE tenant_id = %(tenant_id)s AND grant_id = %(before)s
  AND (
      %(given)s AND owner = %(owner)s
      OR %(received)s AND (
          granted_to = %(owner)s OR granted_to_group = ANY (mnemic.groups_of(%(tenant_id)s, %(owner)s))
      )
  )

-- name: list
-- Grants that an owner gave, received, or both, newest first, starting after the cursor (before_at, before_id). Three
-- lists, each by its own index, then merged: given, received, and received as a member of a group. No grant is in two of
-- them, since nobody receives their own. `dropped_at` of a group's grant is when this owner dropped it.
SELECT grant_id, owner, channel, categories, tags, conversation, granted_to, expires_at, process, reason, created_at,
    revoked_at, revoking_reason, granted_to_group, accepted_at, dropped_at, state
FROM (
    (
        SELECT *, mnemic.grant_state(accepted_at, expires_at, dropped_at, revoked_at) AS state
        FROM state.grants
        WHERE grants.tenant_id = %(tenant_id)s AND %(given)s AND owner = %(owner)s
          AND (created_at, grant_id) < (coalesce(%(before_at)s::timestamptz, 'infinity'), %(before_id)s::uuid)
          AND mnemic.grant_state(accepted_at, expires_at, dropped_at, revoked_at) = ANY (%(states)s::text[])
        ORDER BY created_at DESC, grant_id DESC
        LIMIT %(limit)s
    )
    UNION ALL
    (
        SELECT *, mnemic.grant_state(accepted_at, expires_at, dropped_at, revoked_at) AS state
        FROM state.grants
        WHERE grants.tenant_id = %(tenant_id)s AND %(received)s AND granted_to = %(owner)s
          AND (created_at, grant_id) < (coalesce(%(before_at)s::timestamptz, 'infinity'), %(before_id)s::uuid)
          AND mnemic.grant_state(accepted_at, expires_at, dropped_at, revoked_at) = ANY (%(states)s::text[])
        ORDER BY created_at DESC, grant_id DESC
        LIMIT %(limit)s
    )
    UNION ALL
    (
        SELECT grants.tenant_id, grants.grant_id, grants.owner, granted_to, channel, categories, tags, conversation,
            expires_at, process, reason, created_at, revoked_at, revoking_reason, accepted_at, dropped.dropped_at,
            granted_to_group, mnemic.grant_state(accepted_at, expires_at, dropped.dropped_at, revoked_at) AS state
        FROM state.grants
        LEFT JOIN state.dropped_group_grants AS dropped
            ON dropped.tenant_id = grants.tenant_id AND dropped.grant_id = grants.grant_id AND dropped.owner = %(owner)s
        WHERE grants.tenant_id = %(tenant_id)s AND %(received)s AND grants.owner <> %(owner)s
          AND granted_to_group = ANY (mnemic.groups_of(%(tenant_id)s, %(owner)s))
          AND (created_at, grants.grant_id) < (coalesce(%(before_at)s::timestamptz, 'infinity'), %(before_id)s::uuid)
          AND mnemic.grant_state(accepted_at, expires_at, dropped.dropped_at, revoked_at) = ANY (%(states)s::text[])
        ORDER BY created_at DESC, grants.grant_id DESC
        LIMIT %(limit)s
    )
) AS found
ORDER BY created_at DESC, grant_id DESC
LIMIT %(limit)s

-- name: policy
-- Whether readers accept grants themselves (`ask`), or every grant takes effect at once (`accept_all`).
SELECT grant_policy FROM state.tenants WHERE tenant_id = %(tenant_id)s

-- name: set_policy
-- Sets the policy of a tenant.
UPDATE state.tenants SET grant_policy = %(policy)s WHERE tenant_id = %(tenant_id)s
