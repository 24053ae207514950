-- Acts of the audit log, each with its outcome, in the order in which they began.

-- name: cursor
-- The pagination cursor of a row: its sort key.
SELECT at AS before_at, audit_id AS before_id
FROM traces.audit_log
WHERE tenant_id = %(tenant_id)s AND audit_id = %(before)s AND phase = 'intent'
  AND (%(owner)s::text IS NULL OR owner = %(owner)s)

-- name: list
-- Acts of an owner (NULL: of the whole tenant), newest first, starting after the cursor (before_at, before_id); with
-- `only_unfinished`, those that have no outcome. The index by phase is of no use for intents, half of the log; without
-- statistics the planner might prefer it to the one by action, hence `|| ''`.
SELECT intent.audit_id, intent.owner, intent.process, intent.action, intent.target, intent.detail, intent.at,
    coalesce(outcome.phase, 'unfinished') AS outcome, coalesce(outcome.detail, '{}') AS result, outcome.at AS ended_at
FROM traces.audit_log AS intent
LEFT JOIN traces.audit_log AS outcome
    ON outcome.tenant_id = %(tenant_id)s AND outcome.intent_id = intent.audit_id
WHERE intent.tenant_id = %(tenant_id)s AND intent.phase || '' = 'intent'
  AND (%(owner)s::text IS NULL OR intent.owner = %(owner)s)
  AND intent.at >= coalesce(%(since)s::timestamptz, '-infinity')
  AND intent.at < coalesce(%(until)s::timestamptz, 'infinity')
  AND (intent.at, intent.audit_id) < (coalesce(%(before_at)s::timestamptz, 'infinity'), %(before_id)s::uuid)
  AND (%(action)s::text IS NULL OR intent.action = %(action)s)
  AND (NOT %(only_unfinished)s OR outcome.audit_id IS NULL)
ORDER BY intent.at DESC, intent.audit_id DESC
LIMIT %(limit)s
