-- Schedules: jobs that come again and again. See migration 0014 for when they tick.

-- name: has_timezone
-- Whether the database knows a time zone of exactly this name.
SELECT EXISTS (SELECT FROM pg_timezone_names WHERE name = %(timezone)s) AS has_timezone

-- name: count_others
-- How many schedules the tenant has besides the one of this name.
SELECT count(*) AS other_count FROM queue.schedules WHERE name <> %(name)s

-- name: set
-- Makes or changes a schedule and returns it; no row when it would never tick. One that is awake and keeps its
-- times also keeps its next tick, so that setting it again at every start of a program does not put it off.
WITH timing AS (
    SELECT CASE WHEN %(every_s)s::int IS NOT NULL
        THEN clock_timestamp() + make_interval(secs => %(every_s)s::int)
        ELSE mnemic.cron_time(
            %(minutes)s::smallint[], %(hours)s::smallint[], %(days)s::smallint[], %(months)s::smallint[],
            %(weekdays)s::smallint[], %(either_day)s::boolean, %(timezone)s::text, clock_timestamp()
        )
    END AS next_run_at
)
INSERT INTO queue.schedules AS kept (
    tenant_id, name, owner, job_type, payload, priority, every_s, cron, minutes, hours, days, months, weekdays,
    either_day, timezone, enabled, next_run_at
)
SELECT
    %(tenant_id)s, %(name)s, %(owner)s, %(job_type)s, %(payload)s, %(priority)s, %(every_s)s::int, %(cron)s::text,
    %(minutes)s::smallint[], %(hours)s::smallint[], %(days)s::smallint[], %(months)s::smallint[],
    %(weekdays)s::smallint[], %(either_day)s::boolean, %(timezone)s, coalesce(%(enabled)s::boolean, true), next_run_at
FROM timing
WHERE next_run_at IS NOT NULL
ON CONFLICT (tenant_id, name) DO UPDATE
SET owner = excluded.owner, job_type = excluded.job_type, payload = excluded.payload, priority = excluded.priority,
    every_s = excluded.every_s, cron = excluded.cron, minutes = excluded.minutes, hours = excluded.hours,
    days = excluded.days, months = excluded.months, weekdays = excluded.weekdays, either_day = excluded.either_day,
    timezone = excluded.timezone, enabled = coalesce(%(enabled)s::boolean, kept.enabled), problem = NULL,
    next_run_at = CASE
        WHEN kept.enabled
            AND (kept.every_s, kept.cron, kept.timezone)
                IS NOT DISTINCT FROM (excluded.every_s, excluded.cron, excluded.timezone)
        THEN kept.next_run_at
        ELSE excluded.next_run_at
    END,
    planned_at = excluded.planned_at, updated_at = now()
RETURNING name, job_type, payload, owner, priority, cron, every_s, timezone, enabled, problem, next_run_at,
    last_run_at, last_job_id, created_at, updated_at

-- name: get
-- One schedule.
SELECT name, job_type, payload, owner, priority, cron, every_s, timezone, enabled, problem, next_run_at,
    last_run_at, last_job_id, created_at, updated_at
FROM queue.schedules
WHERE name = %(name)s

-- name: list
-- Schedules by name, a page at a time.
SELECT name, job_type, payload, owner, priority, cron, every_s, timezone, enabled, problem, next_run_at,
    last_run_at, last_job_id, created_at, updated_at
FROM queue.schedules
WHERE name > %(after)s
ORDER BY name
LIMIT %(limit)s

-- name: delete
-- Deletes a schedule; jobs that it made stay.
DELETE FROM queue.schedules WHERE name = %(name)s

-- name: pause
-- Lets a schedule tick no more until it is resumed.
UPDATE queue.schedules
SET enabled = false, updated_at = now()
WHERE name = %(name)s
RETURNING name, job_type, payload, owner, priority, cron, every_s, timezone, enabled, problem, next_run_at,
    last_run_at, last_job_id, created_at, updated_at

-- name: resume
-- Lets a paused schedule tick again, from its next tick on: what it slept through was not missed.
UPDATE queue.schedules
SET next_run_at = CASE WHEN enabled THEN next_run_at ELSE mnemic.schedule_time(schedules, clock_timestamp()) END,
    enabled = true, problem = NULL, planned_at = clock_timestamp(), updated_at = now()
WHERE name = %(name)s
RETURNING name, job_type, payload, owner, priority, cron, every_s, timezone, enabled, problem, next_run_at,
    last_run_at, last_job_id, created_at, updated_at

-- name: run_due
-- Enqueues the jobs of all schedules that are due, of all tenants; returns how many there were.
SELECT mnemic.run_due_schedules() AS ticked

-- name: use_pg_cron
-- Has pg_cron tick instead of the workers.
SELECT mnemic.use_pg_cron() AS cron_job_id

-- name: leave_pg_cron
-- Leaves ticking to the workers again; returns whether pg_cron had been told.
SELECT mnemic.leave_pg_cron() AS was_told
