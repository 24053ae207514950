-- API keys. A key is active until it expires or is revoked; it is never deleted, and only its hash is stored.

-- name: create
-- Adds a key and returns it as it is listed.
INSERT INTO state.api_keys (tenant_id, key_id, name, role, owner, key_hash, prefix, expires_at)
VALUES (%(tenant_id)s, %(key_id)s, %(name)s, %(role)s, %(owner)s, %(key_hash)s, %(prefix)s,
    %(expires_at)s::timestamptz)
RETURNING key_id, name, role, owner, prefix, created_at, expires_at, revoked_at, last_used_at

-- name: get
-- One key; of an owner, if one is given.
SELECT key_id, name, role, owner, prefix, created_at, expires_at, revoked_at, last_used_at,
    (
        SELECT count(*) FROM queue.sessions
        WHERE sessions.tenant_id = %(tenant_id)s AND sessions.key_id = api_keys.key_id AND kind = 'session'
          AND sessions.expires_at > statement_timestamp() AND api_keys.revoked_at IS NULL
          AND (api_keys.expires_at IS NULL OR api_keys.expires_at > statement_timestamp())
    ) AS session_count
FROM state.api_keys
WHERE tenant_id = %(tenant_id)s AND key_id = %(key_id)s AND (%(owner)s::text IS NULL OR owner = %(owner)s)

-- name: revoke
-- Revokes a key; changes nothing if it is revoked already.
UPDATE state.api_keys
SET revoked_at = now()
WHERE tenant_id = %(tenant_id)s
  AND key_id = %(key_id)s AND (%(owner)s::text IS NULL OR owner = %(owner)s) AND revoked_at IS NULL

-- name: cursor
-- The pagination cursor of a row: its sort key.
SELECT created_at AS before_at, key_id AS before_id
FROM state.api_keys
WHERE tenant_id = %(tenant_id)s AND key_id = %(before)s AND (%(owner)s::text IS NULL OR owner = %(owner)s)

-- name: list
-- Keys of an owner (NULL: of the whole tenant), newest first, starting after the cursor (before_at, before_id).
SELECT key_id, name, role, owner, prefix, created_at, expires_at, revoked_at, last_used_at,
    (
        SELECT count(*) FROM queue.sessions
        WHERE sessions.tenant_id = %(tenant_id)s AND sessions.key_id = api_keys.key_id AND kind = 'session'
          AND sessions.expires_at > statement_timestamp() AND api_keys.revoked_at IS NULL
          AND (api_keys.expires_at IS NULL OR api_keys.expires_at > statement_timestamp())
    ) AS session_count
FROM state.api_keys
WHERE tenant_id = %(tenant_id)s AND (%(owner)s::text IS NULL OR owner = %(owner)s)
  AND (created_at, key_id) < (coalesce(%(before_at)s::timestamptz, 'infinity'), %(before_id)s::uuid)
  AND (
      %(include_ended)s
      OR revoked_at IS NULL AND (expires_at IS NULL OR expires_at > statement_timestamp())
  )
ORDER BY created_at DESC, key_id DESC
LIMIT %(limit)s

-- name: note_uses
-- Records when keys were last used; the time never goes back.
UPDATE state.api_keys
SET last_used_at = greatest(api_keys.last_used_at, used.last_used_at)
FROM unnest(%(key_ids)s::uuid[], %(last_used_ats)s::timestamptz[]) AS used (key_id, last_used_at)
WHERE api_keys.tenant_id = %(tenant_id)s AND api_keys.key_id = used.key_id

-- name: find
-- The key that has this hash, its tenant, and its condition: `active`, `expired` or `revoked`.
SELECT tenant_id, tenant_name, condition, key_hash, key_id, name, role, owner, prefix, created_at, expires_at,
    revoked_at, last_used_at
FROM mnemic.find_key(%(hash)s, %(signature)s)

-- name: exist
-- Whether any tenant has an active key.
SELECT mnemic.has_keys() AS exist
