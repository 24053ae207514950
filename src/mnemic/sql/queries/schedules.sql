-- Schedules: recurring jobs. See migrations/0010_schedules.sql for when they run.

-- name: has_timezone
-- Whether the database knows a time zone of exactly this name.
SELECT EXISTS (SELECT FROM pg_timezone_names WHERE name = %(timezone)s) AS has_timezone

-- name: count_others
-- How many schedules the tenant has besides the one of this name.
SELECT count(*) AS other_count FROM queue.schedules WHERE tenant_id = %(tenant_id)s AND name <> %(name)s

-- name: set
-- Creates or changes a schedule and returns it; no row if it would never run. An enabled schedule whose times do
-- not change keeps its next run, so that setting it again at every start of a program does not postpone it.
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

-- name: give_defaults
-- Gives a tenant the default schedules that it has never been given. The first run is between an hour and one interval
-- from now, at a moment that depends on the tenant. The row lock lets two processes give each schedule only once.
WITH tenant AS MATERIALIZED (
    SELECT tenant_id, default_schedules FROM state.tenants WHERE tenant_id = %(tenant_id)s FOR NO KEY UPDATE
),
missing AS MATERIALIZED (
    SELECT tenant.tenant_id, declared.name, declared.job_type, declared.every_s
    FROM tenant, unnest(%(names)s::text[], %(job_types)s::text[], %(every_s)s::int[]) AS declared (name, job_type, every_s)
    WHERE declared.name <> ALL (tenant.default_schedules)
),
recorded AS (
    UPDATE state.tenants
    SET default_schedules = tenants.default_schedules || ARRAY(SELECT name FROM missing ORDER BY name)
    WHERE tenant_id = (SELECT tenant_id FROM missing LIMIT 1)
)
INSERT INTO queue.schedules (tenant_id, name, job_type, every_s, next_run_at)
SELECT
    tenant_id, name, job_type, every_s,
    now() + make_interval(
        secs => least(3600, every_s) + abs(mod(hashtextextended(name || tenant_id, 0), greatest(every_s - 3600, 1)))
    )
FROM missing
ON CONFLICT (tenant_id, name) DO NOTHING

-- name: get
-- One schedule.
SELECT name, job_type, payload, owner, priority, cron, every_s, timezone, enabled, problem, next_run_at,
    last_run_at, last_job_id, created_at, updated_at
FROM queue.schedules
WHERE tenant_id = %(tenant_id)s AND name = %(name)s

-- name: list
-- Schedules by name, a page at a time.
SELECT name, job_type, payload, owner, priority, cron, every_s, timezone, enabled, problem, next_run_at,
    last_run_at, last_job_id, created_at, updated_at
FROM queue.schedules
WHERE tenant_id = %(tenant_id)s AND name > %(after)s
ORDER BY name
LIMIT %(limit)s

-- name: delete
-- Deletes a schedule; its jobs stay.
DELETE FROM queue.schedules WHERE tenant_id = %(tenant_id)s AND name = %(name)s

-- name: pause
-- Pauses a schedule until it is resumed.
UPDATE queue.schedules
SET enabled = false, updated_at = now()
WHERE tenant_id = %(tenant_id)s AND name = %(name)s
RETURNING name, job_type, payload, owner, priority, cron, every_s, timezone, enabled, problem, next_run_at,
    last_run_at, last_job_id, created_at, updated_at

-- name: resume
-- Resumes a paused schedule with its next time from now; times during the pause are not made up for.
UPDATE queue.schedules
SET next_run_at = CASE WHEN enabled THEN next_run_at ELSE mnemic.schedule_time(schedules, clock_timestamp()) END,
    enabled = true, problem = NULL, planned_at = clock_timestamp(), updated_at = now()
WHERE tenant_id = %(tenant_id)s AND name = %(name)s
RETURNING name, job_type, payload, owner, priority, cron, every_s, timezone, enabled, problem, next_run_at,
    last_run_at, last_job_id, created_at, updated_at

-- name: run_due
-- Enqueues the jobs of all due schedules of all tenants; returns how many.
SELECT mnemic.run_due_schedules() AS ticked

-- name: use_pg_cron
-- Lets pg_cron run the schedules instead of the workers.
SELECT mnemic.use_pg_cron() AS cron_job_id

-- name: leave_pg_cron
-- Lets the workers run the schedules again; returns whether pg_cron had an entry.
SELECT mnemic.leave_pg_cron() AS was_told
