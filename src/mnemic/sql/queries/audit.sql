-- The audit log: destructive actions and exports, the intent before, the outcome after. Append-only.

-- name: write
-- Adds an intent (`intent_id` NULL) or its outcome. An intent has at most one outcome: a second one is not written.
INSERT INTO traces.audit_log (tenant_id, audit_id, intent_id, owner, process, action, target, phase, detail)
VALUES (%(tenant_id)s, %(audit_id)s, %(intent_id)s, %(owner)s, %(process)s, %(action)s, %(target)s, %(phase)s,
    %(detail)s)
ON CONFLICT (tenant_id, intent_id) DO NOTHING

-- name: end
-- Adds the outcome of an action that ends in another process than it began, by its intent. Does nothing if there is
-- no such intent or it has an outcome.
INSERT INTO traces.audit_log (tenant_id, audit_id, intent_id, owner, process, action, target, phase, detail)
SELECT tenant_id, %(audit_id)s, audit_id, owner, process, action, target, %(phase)s, %(detail)s
FROM traces.audit_log
WHERE audit_log.tenant_id = %(tenant_id)s AND audit_id = %(intent_id)s AND phase = 'intent'
ON CONFLICT (tenant_id, intent_id) DO NOTHING

-- name: cursor
-- The pagination cursor of a row: its sort key.
SELECT at AS before_at, audit_id AS before_id
FROM traces.audit_log
WHERE tenant_id = %(tenant_id)s AND audit_id = %(before)s AND (%(owner)s::text IS NULL OR owner = %(owner)s)

-- name: list
-- Intents and outcomes of an owner (NULL: of the whole tenant), newest first, starting after the cursor (before_at,
-- before_id).
SELECT audit_id, intent_id, owner, process, action, target, phase, detail, at
FROM traces.audit_log
WHERE tenant_id = %(tenant_id)s AND (%(owner)s::text IS NULL OR owner = %(owner)s)
  AND at >= coalesce(%(since)s::timestamptz, '-infinity')
  AND at < coalesce(%(until)s::timestamptz, 'infinity')
  AND (at, audit_id) < (coalesce(%(before_at)s::timestamptz, 'infinity'), %(before_id)s::uuid)
  AND (%(action)s::text IS NULL OR action = %(action)s)
ORDER BY at DESC, audit_id DESC
LIMIT %(limit)s

-- name: unfinished
-- Intents without an outcome: actions that still run or were interrupted. Newest first.
SELECT audit_id, intent_id, owner, process, action, target, phase, detail, at
FROM traces.audit_log AS intent
WHERE intent.tenant_id = %(tenant_id)s AND phase = 'intent'
  AND (%(owner)s::text IS NULL OR owner = %(owner)s)
  AND NOT EXISTS (SELECT FROM traces.audit_log AS outcome
      WHERE outcome.tenant_id = %(tenant_id)s AND outcome.intent_id = intent.audit_id)
ORDER BY at DESC, audit_id DESC
LIMIT %(limit)s

-- name: receipts
-- Receipts of erasures and archivings of owners, newest first: their ids sort by time. One of them if `receipt_id` is given.
SELECT target::uuid AS receipt_id, left(action, -6) AS mode, detail -> 'rows' AS rows, at AS finished_at
FROM traces.audit_log
WHERE tenant_id = %(tenant_id)s AND action IN ('erase_owner', 'archive_owner') AND phase = 'succeeded'
  AND (%(receipt_id)s::text IS NULL OR target = %(receipt_id)s)
  AND target < coalesce(%(before)s::text, 'g')
ORDER BY target DESC
LIMIT %(limit)s
