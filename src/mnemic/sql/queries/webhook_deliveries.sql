-- Delivery attempts of webhooks.

-- name: add
-- Logs an attempt, if the webhook still exists.
INSERT INTO queue.webhook_deliveries (
    tenant_id, webhook_id, owner, event_position, event_type, attempt, status_code, error, duration_ms
)
SELECT tenant_id, webhook_id, %(owner)s::text, %(event_position)s::bigint, %(event_type)s::text, %(attempt)s::int,
    %(status_code)s::int, %(error)s::text, %(duration_ms)s::real
FROM queue.webhooks
WHERE webhooks.tenant_id = %(tenant_id)s AND webhook_id = %(webhook_id)s
RETURNING delivery_id, webhook_id, owner, event_position, event_type, attempt, status_code, error, duration_ms, at

-- name: cursor
-- The pagination cursor of a row: its sort key.
SELECT at AS before_at, delivery_id AS before_id
FROM queue.webhook_deliveries
WHERE tenant_id = %(tenant_id)s AND webhook_id = %(webhook_id)s AND delivery_id = %(before)s

-- name: list
-- Attempts to deliver to a webhook, newest first, a page at a time.
SELECT delivery_id, webhook_id, owner, event_position, event_type, attempt, status_code, error, duration_ms, at
FROM queue.webhook_deliveries
WHERE tenant_id = %(tenant_id)s AND webhook_id = %(webhook_id)s
  AND (at, delivery_id) < (
      coalesce(%(before_at)s::timestamptz, 'infinity'),
      coalesce(%(before_id)s::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
  )
ORDER BY at DESC, delivery_id DESC
LIMIT %(limit)s

-- name: drop
-- Forgets attempts older than some days, a bounded number; returns how many.
SELECT mnemic.drop_webhook_deliveries(%(keep_days)s, %(most)s) AS dropped
