-- Webhooks and the state of their delivery.

-- name: create
-- Creates a webhook that gets the events after a position.
INSERT INTO queue.webhooks (tenant_id, owner, url, types, secret, "position")
VALUES (%(tenant_id)s, %(owner)s, %(url)s, %(types)s, %(secret)s, %(position)s)
RETURNING webhook_id, owner, url, types, state, disabled_reason, failing_since, previous_secret_until, created_at,
    updated_at

-- name: get
-- One webhook, without its secret; an owner sees only those of its own events.
SELECT webhook_id, owner, url, types, state, disabled_reason, failing_since, previous_secret_until, created_at,
    updated_at
FROM queue.webhooks
WHERE tenant_id = %(tenant_id)s
  AND webhook_id = %(webhook_id)s AND (%(owner)s::text IS NULL OR owner = %(owner)s::text)

-- name: list
-- The webhooks of a tenant, or those of one owner's events, oldest first, a page at a time.
SELECT webhook_id, owner, url, types, state, disabled_reason, failing_since, previous_secret_until, created_at,
    updated_at
FROM queue.webhooks
WHERE tenant_id = %(tenant_id)s AND webhook_id > coalesce(%(after)s::uuid, '00000000-0000-0000-0000-000000000000')
  AND (%(owner)s::text IS NULL OR owner = %(owner)s::text)
ORDER BY webhook_id
LIMIT %(limit)s

-- name: update
-- Changes the URL, the types, or both; NULL keeps the URL.
UPDATE queue.webhooks
SET url = coalesce(%(url)s, url), updated_at = clock_timestamp(),
    types = CASE WHEN %(change_types)s THEN %(types)s::text[] ELSE types END
WHERE tenant_id = %(tenant_id)s
  AND webhook_id = %(webhook_id)s AND (%(owner)s::text IS NULL OR owner = %(owner)s::text)
RETURNING webhook_id, owner, url, types, state, disabled_reason, failing_since, previous_secret_until, created_at,
    updated_at

-- name: enable
-- Enables a webhook, from where it stopped or from a given position.
UPDATE queue.webhooks
SET state = 'enabled', disabled_reason = NULL, failing_since = NULL, updated_at = clock_timestamp(),
    "position" = coalesce(%(position)s::bigint, "position")
WHERE tenant_id = %(tenant_id)s
  AND webhook_id = %(webhook_id)s AND (%(owner)s::text IS NULL OR owner = %(owner)s::text)
RETURNING webhook_id, owner, url, types, state, disabled_reason, failing_since, previous_secret_until, created_at,
    updated_at

-- name: disable
-- Disables a webhook with a reason; no row if it is disabled already.
UPDATE queue.webhooks
SET state = 'disabled', disabled_reason = %(reason)s, updated_at = clock_timestamp()
WHERE tenant_id = %(tenant_id)s
  AND webhook_id = %(webhook_id)s AND state = 'enabled' AND (%(owner)s::text IS NULL OR owner = %(owner)s::text)
RETURNING webhook_id, owner, url, types, state, disabled_reason, failing_since, previous_secret_until, created_at,
    updated_at

-- name: rotate
-- Gives a webhook a new secret and keeps the old one for a grace period; returns whether there is such a webhook.
SELECT mnemic.rotate_webhook_secret(%(webhook_id)s, %(owner)s, %(secret)s, %(grace_s)s) AS is_rotated

-- name: forget_secrets
-- Deletes previous secrets whose grace period has ended; returns how many.
SELECT mnemic.delete_expired_webhook_secrets() AS forgotten

-- name: delete
-- Deletes a webhook and its delivery log.
DELETE FROM queue.webhooks
WHERE tenant_id = %(tenant_id)s
  AND webhook_id = %(webhook_id)s AND (%(owner)s::text IS NULL OR owner = %(owner)s::text)

-- name: to_send
-- Everything that delivery needs, including the secret, and the previous one during the grace period.
SELECT owner, url, secret, state,
    CASE WHEN previous_secret_until > clock_timestamp() THEN previous_secret END AS previous_secret
FROM queue.webhooks
WHERE tenant_id = %(tenant_id)s AND webhook_id = %(webhook_id)s

-- name: succeeded
-- Clears the failing state of a webhook.
UPDATE queue.webhooks SET failing_since = NULL
WHERE tenant_id = %(tenant_id)s AND webhook_id = %(webhook_id)s AND failing_since IS NOT NULL

-- name: failed
-- Records since when a webhook has been failing; returns for how many seconds, and whether it is enabled.
UPDATE queue.webhooks SET failing_since = coalesce(failing_since, clock_timestamp())
WHERE tenant_id = %(tenant_id)s AND webhook_id = %(webhook_id)s
RETURNING extract(epoch FROM clock_timestamp() - failing_since)::float8 AS failing_s, state = 'enabled' AS is_enabled

-- name: tenants_with_undelivered_events
-- Tenants with events that an enabled webhook has not been given yet; needs a proof of working.
SELECT tenant_id, name FROM mnemic.tenants_with_undelivered_events(%(most)s)

-- name: take_next
-- The next enabled webhook that is behind the log, locked until the transaction ends; locked ones are skipped.
SELECT webhook_id, owner, types, "position"
FROM queue.webhooks
WHERE webhooks.tenant_id = %(tenant_id)s
  AND state = 'enabled'
  AND "position" < (SELECT last_position FROM queue.event_logs WHERE tenant_id = %(tenant_id)s)
  AND webhook_id > coalesce(%(after)s::uuid, '00000000-0000-0000-0000-000000000000')
ORDER BY webhook_id
LIMIT 1
FOR UPDATE OF webhooks SKIP LOCKED

-- name: move
-- Stores the position up to which a webhook's events were enqueued.
UPDATE queue.webhooks SET "position" = %(position)s WHERE tenant_id = %(tenant_id)s AND webhook_id = %(webhook_id)s
