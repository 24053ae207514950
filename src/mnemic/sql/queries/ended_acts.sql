-- Acts of the audit log that have ended in one way, in the order in which they ended.

-- name: cursor
-- The pagination cursor of an act: the sort key of its outcome.
SELECT at AS before_at, audit_id AS before_id
FROM traces.audit_log
WHERE tenant_id = %(tenant_id)s AND intent_id = %(before)s AND phase = %(outcome)s
  AND (%(owner)s::text IS NULL OR owner = %(owner)s)

-- name: list
-- Acts with this outcome of an owner (NULL: of the whole tenant), newest first, starting after the cursor (before_at,
-- before_id). `since` and `until` are about the end.
SELECT intent.audit_id, intent.owner, intent.process, intent.action, intent.target, intent.detail, intent.at,
    outcome.phase AS outcome, outcome.detail AS result, outcome.at AS ended_at
FROM traces.audit_log AS outcome
JOIN traces.audit_log AS intent ON intent.tenant_id = %(tenant_id)s AND intent.audit_id = outcome.intent_id
WHERE outcome.tenant_id = %(tenant_id)s AND outcome.phase = %(outcome)s
  AND (%(owner)s::text IS NULL OR outcome.owner = %(owner)s)
  AND outcome.at >= coalesce(%(since)s::timestamptz, '-infinity')
  AND outcome.at < coalesce(%(until)s::timestamptz, 'infinity')
  AND (outcome.at, outcome.audit_id) < (coalesce(%(before_at)s::timestamptz, 'infinity'), %(before_id)s::uuid)
  AND (%(action)s::text IS NULL OR outcome.action = %(action)s)
ORDER BY outcome.at DESC, outcome.audit_id DESC
LIMIT %(limit)s
