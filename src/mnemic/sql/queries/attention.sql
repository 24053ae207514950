-- What of a tenant wants the attention of a person (maintenance/attention.py). Every count is bounded, so that it stays cheap.

-- name: counts
-- One row per kind that has any: how many, up to a limit, and since when.
SELECT 'dead_jobs' AS kind, count(*) AS count, min(found.at) AS oldest_at
FROM (
    SELECT finished_at AS at FROM queue.finished_jobs
    WHERE finished_jobs.tenant_id = %(tenant_id)s AND state = 'dead'
    LIMIT %(limit)s
) AS found
HAVING count(*) > 0
UNION ALL
SELECT 'failing_schedules', count(*), min(found.at)
FROM (
    SELECT coalesce(dead.finished_at, schedules.updated_at) AS at
    FROM queue.schedules
    LEFT JOIN queue.finished_jobs AS dead
        ON dead.tenant_id = %(tenant_id)s AND dead.job_id = schedules.last_job_id AND dead.state = 'dead'
    WHERE schedules.tenant_id = %(tenant_id)s
      AND (schedules.problem IS NOT NULL OR (schedules.enabled AND dead.job_id IS NOT NULL))
    LIMIT %(limit)s
) AS found
HAVING count(*) > 0
UNION ALL
SELECT 'late_jobs', count(*), min(found.at)
FROM (
    SELECT run_at AS at FROM queue.jobs
    WHERE jobs.tenant_id = %(tenant_id)s AND state = 'waiting' AND run_at < now() - make_interval(secs => %(late_s)s)
    LIMIT %(limit)s
) AS found
HAVING count(*) > 0
UNION ALL
SELECT 'unfinished_acts', count(*), min(latest.at)
FROM (
    SELECT intent.audit_id, intent.at FROM traces.audit_log AS intent
    WHERE intent.tenant_id = %(tenant_id)s AND phase = 'intent'
      AND intent.at >= now() - make_interval(days => %(acts_days)s)
      AND intent.at < now() - make_interval(secs => %(unfinished_s)s)
    ORDER BY intent.at DESC, intent.audit_id DESC
    LIMIT %(limit)s
) AS latest
WHERE NOT EXISTS (
    SELECT FROM traces.audit_log AS outcome
    WHERE outcome.tenant_id = %(tenant_id)s AND outcome.intent_id = latest.audit_id
)
HAVING count(*) > 0
UNION ALL
SELECT 'missing_vectors', count(*), min(found.at)
FROM (
    SELECT marked_at AS at FROM queue.embedding_backlog
    WHERE embedding_backlog.tenant_id = %(tenant_id)s
    LIMIT %(limit)s
) AS found
HAVING count(*) > 0
UNION ALL
SELECT 'late_consolidation', count(*), min(coalesce(schedules.last_run_at, schedules.created_at))
FROM queue.schedules
WHERE schedules.tenant_id = %(tenant_id)s AND schedules.enabled AND schedules.job_type = 'mind.consolidate'
  AND schedules.next_run_at < now()
  AND coalesce(schedules.last_run_at, schedules.created_at) < now() - make_interval(secs => %(idle_s)s)
HAVING count(*) > 0

-- name: spend
-- The spend account as it was last written, without locking it: what counts against each cap. No row without an account.
SELECT
    day = (now() AT TIME ZONE 'UTC')::date AS is_of_today,
    month = date_trunc('month', now() AT TIME ZONE 'UTC')::date AS is_of_this_month,
    day_cap_microdollars, month_cap_microdollars, total_cap_microdollars, day_spent_microdollars,
    month_spent_microdollars, total_spent_microdollars, reserved_microdollars
FROM state.spend_accounts
WHERE tenant_id = %(tenant_id)s
