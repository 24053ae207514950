-- Webhooks: who gets which events, and what came of sending them.

-- name: create
-- Makes a webhook that gets what comes behind a position.
INSERT INTO queue.webhooks (tenant_id, owner, url, types, secret, "position")
VALUES (%(tenant_id)s, %(owner)s, %(url)s, %(types)s, %(secret)s, %(position)s)
RETURNING webhook_id, owner, url, types, state, disabled_reason, failing_since, previous_secret_until, created_at,
    updated_at

-- name: get
-- One webhook, without its secret; a given owner sees only those that get its events.
SELECT webhook_id, owner, url, types, state, disabled_reason, failing_since, previous_secret_until, created_at,
    updated_at
FROM queue.webhooks
WHERE webhook_id = %(webhook_id)s AND (%(owner)s::text IS NULL OR owner = %(owner)s::text)

-- name: list
-- The webhooks of a tenant, or those that get one owner's events, the oldest first, a page at a time.
SELECT webhook_id, owner, url, types, state, disabled_reason, failing_since, previous_secret_until, created_at,
    updated_at
FROM queue.webhooks
WHERE webhook_id > coalesce(%(after)s::uuid, '00000000-0000-0000-0000-000000000000')
  AND (%(owner)s::text IS NULL OR owner = %(owner)s::text)
ORDER BY webhook_id
LIMIT %(limit)s

-- name: update
-- Changes the address, the types, or both; NULL leaves the address as it is.
UPDATE queue.webhooks
SET url = coalesce(%(url)s, url), updated_at = clock_timestamp(),
    types = CASE WHEN %(change_types)s THEN %(types)s::text[] ELSE types END
WHERE webhook_id = %(webhook_id)s AND (%(owner)s::text IS NULL OR owner = %(owner)s::text)
RETURNING webhook_id, owner, url, types, state, disabled_reason, failing_since, previous_secret_until, created_at,
    updated_at

-- name: enable
-- Lets a webhook get events again, from where it stopped, or from a given position.
UPDATE queue.webhooks
SET state = 'enabled', disabled_reason = NULL, failing_since = NULL, updated_at = clock_timestamp(),
    "position" = coalesce(%(position)s::bigint, "position")
WHERE webhook_id = %(webhook_id)s AND (%(owner)s::text IS NULL OR owner = %(owner)s::text)
RETURNING webhook_id, owner, url, types, state, disabled_reason, failing_since, previous_secret_until, created_at,
    updated_at

-- name: disable
-- Stops a webhook, with the reason; no row if it is disabled already.
UPDATE queue.webhooks
SET state = 'disabled', disabled_reason = %(reason)s, updated_at = clock_timestamp()
WHERE webhook_id = %(webhook_id)s AND state = 'enabled' AND (%(owner)s::text IS NULL OR owner = %(owner)s::text)
RETURNING webhook_id, owner, url, types, state, disabled_reason, failing_since, previous_secret_until, created_at,
    updated_at

-- name: rotate
-- Gives a webhook a new secret and keeps the old one beside it for a while; returns whether there is such a webhook.
SELECT mnemic.rotate_webhook_secret(%(webhook_id)s, %(owner)s, %(secret)s, %(grace_s)s) AS is_rotated

-- name: forget_secrets
-- Forgets secrets that no message is signed with any more; returns how many.
SELECT mnemic.delete_expired_webhook_secrets() AS forgotten

-- name: delete
-- Deletes a webhook and the log of what was sent to it.
DELETE FROM queue.webhooks
WHERE webhook_id = %(webhook_id)s AND (%(owner)s::text IS NULL OR owner = %(owner)s::text)

-- name: to_send
-- All that sending takes, the secret included, and the one before it while that still signs.
SELECT owner, url, secret, state,
    CASE WHEN previous_secret_until > clock_timestamp() THEN previous_secret END AS previous_secret
FROM queue.webhooks
WHERE webhook_id = %(webhook_id)s

-- name: succeeded
-- Forgets that a webhook was failing.
UPDATE queue.webhooks SET failing_since = NULL WHERE webhook_id = %(webhook_id)s AND failing_since IS NOT NULL

-- name: failed
-- Remembers since when a webhook has been failing; returns for how many seconds, and whether it is enabled.
UPDATE queue.webhooks SET failing_since = coalesce(failing_since, clock_timestamp())
WHERE webhook_id = %(webhook_id)s
RETURNING extract(epoch FROM clock_timestamp() - failing_since)::float8 AS failing_s, state = 'enabled' AS is_enabled

-- name: tenants_behind
-- Tenants with events that an enabled webhook has not been given yet; needs a proof of working.
SELECT tenant_id, name FROM mnemic.tenants_with_undelivered_events(%(most)s)

-- name: take_next
-- The next enabled webhook that is behind the log, held until the transaction ends; those that another worker
-- holds are left to it.
SELECT webhook_id, owner, types, "position"
FROM queue.webhooks
WHERE state = 'enabled' AND "position" < (SELECT last_position FROM queue.event_logs)
  AND webhook_id > coalesce(%(after)s::uuid, '00000000-0000-0000-0000-000000000000')
ORDER BY webhook_id
LIMIT 1
FOR UPDATE OF webhooks SKIP LOCKED

-- name: move
-- Says up to where the events of a webhook were handed to the queue.
UPDATE queue.webhooks SET "position" = %(position)s WHERE webhook_id = %(webhook_id)s
