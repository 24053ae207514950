-- Sessions of the dashboard, and the links that open one. A row is deleted when it ends before it expires.

-- name: hold_key
-- Locks an active key while sessions of it are opened, so that two at once do not exceed the limit. No row if it has ended.
SELECT key_id
FROM state.api_keys
WHERE tenant_id = %(tenant_id)s AND key_id = %(key_id)s
  AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > statement_timestamp())
FOR NO KEY UPDATE

-- name: open
-- Adds a session or a link; its lifetime is bounded by the table.
INSERT INTO queue.sessions (tenant_id, session_id, key_id, kind, secret_hash, expires_at)
VALUES (%(tenant_id)s, %(session_id)s, %(key_id)s, %(kind)s, %(secret_hash)s,
    now() + make_interval(secs => %(lifetime_s)s))
RETURNING session_id, expires_at

-- name: end_surplus
-- Deletes what has expired of a key, and its oldest sessions or links beyond those that are kept.
DELETE FROM queue.sessions
WHERE sessions.tenant_id = %(tenant_id)s AND sessions.key_id = %(key_id)s
  AND (
      expires_at <= statement_timestamp()
      OR kind = %(kind)s AND session_id NOT IN (
          SELECT kept.session_id
          FROM queue.sessions AS kept
          WHERE kept.tenant_id = %(tenant_id)s AND kept.key_id = %(key_id)s AND kept.kind = %(kind)s
          ORDER BY kept.created_at DESC, kept.session_id DESC
          LIMIT %(kept_max)s
      )
  )

-- name: end
-- Ends a session, or uses a link up; no row if that has happened before.
DELETE FROM queue.sessions
WHERE tenant_id = %(tenant_id)s AND session_id = %(session_id)s AND expires_at > statement_timestamp()
RETURNING session_id

-- name: find
-- The session or link whose secret has this hash, its key and tenant, and its condition: `active`, `expired` or `revoked`.
SELECT tenant_id, tenant_name, condition, secret_hash, session_id, kind, session_expires_at, key_id, name, role, owner,
    prefix, created_at, expires_at, revoked_at, last_used_at
FROM mnemic.find_session(%(hash)s, %(signature)s)

-- name: end_of_key
-- Ends all sessions and links of a key that was revoked.
DELETE FROM queue.sessions
WHERE tenant_id = %(tenant_id)s AND key_id = %(key_id)s
