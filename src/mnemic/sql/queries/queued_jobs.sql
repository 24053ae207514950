-- Jobs as a tenant sees them. What workers do is in workers.sql.

-- name: enqueue
-- Adds a job and returns it. With a run_at in the future it is scheduled until then. Signed when it is a
-- transaction by itself.
INSERT INTO queue.jobs (tenant_id, owner, type, payload, priority, run_at, state, max_attempts)
SELECT
    tenant_id, %(owner)s::text, %(type)s, %(payload)s, %(priority)s,
    coalesce(%(run_at)s::timestamptz, clock_timestamp()),
    CASE WHEN %(run_at)s::timestamptz > clock_timestamp() THEN 'scheduled' ELSE 'waiting' END,
    %(max_attempts)s
FROM mnemic.authenticate_tenant(%(tenant_id)s, %(signature)s::text) AS entered (tenant_id)
RETURNING
    job_id, type, payload, owner, key, priority, state, run_at, attempts, max_attempts, cancel_requested, progress,
    NULL::jsonb AS result, NULL::jsonb AS error, worker, started_at, created_at, NULL::timestamptz AS finished_at

-- name: enqueue_once
-- The same under an idempotency key; no row if the key is taken. Waits for a concurrent insertion of the same key.
WITH reserved AS (
    INSERT INTO queue.job_keys (tenant_id, type, key, job_id, owner)
    VALUES (%(tenant_id)s, %(type)s, %(key)s, mnemic.new_id(), %(owner)s::text)
    ON CONFLICT (tenant_id, type, key) DO NOTHING
    RETURNING job_id
)
INSERT INTO queue.jobs (tenant_id, job_id, owner, type, payload, priority, run_at, key, state, max_attempts)
SELECT
    %(tenant_id)s, job_id, %(owner)s::text, %(type)s, %(payload)s, %(priority)s,
    coalesce(%(run_at)s::timestamptz, clock_timestamp()), %(key)s,
    CASE WHEN %(run_at)s::timestamptz > clock_timestamp() THEN 'scheduled' ELSE 'waiting' END,
    %(max_attempts)s
FROM reserved
RETURNING
    job_id, type, payload, owner, key, priority, state, run_at, attempts, max_attempts, cancel_requested, progress,
    NULL::jsonb AS result, NULL::jsonb AS error, worker, started_at, created_at, NULL::timestamptz AS finished_at

-- name: enqueue_many
-- Adds a job for each payload, all of one type; returns their ids in the order of the payloads.
WITH given AS MATERIALIZED (
    SELECT payload, number, mnemic.new_id() AS job_id
    FROM jsonb_array_elements(%(payloads)s) WITH ORDINALITY AS given (payload, number)
),
added AS (
    INSERT INTO queue.jobs (tenant_id, job_id, owner, type, payload, priority, run_at, state, max_attempts)
    SELECT
        %(tenant_id)s, job_id, %(owner)s::text, %(type)s, payload, %(priority)s,
        coalesce(%(run_at)s::timestamptz, clock_timestamp()),
        CASE WHEN %(run_at)s::timestamptz > clock_timestamp() THEN 'scheduled' ELSE 'waiting' END,
        %(max_attempts)s
    FROM given
)
SELECT job_id FROM given ORDER BY number

-- name: get
-- One job, unfinished or finished.
SELECT
    job_id, type, payload, owner, key, priority, state, run_at, attempts, max_attempts, cancel_requested, progress,
    result, error, worker, started_at, created_at, finished_at
FROM queue.all_jobs
WHERE tenant_id = %(tenant_id)s AND job_id = %(job_id)s

-- name: get_by_key
-- The job that was added under a key.
SELECT
    job_id, type, payload, owner, key, priority, state, run_at, attempts, max_attempts, cancel_requested, progress,
    result, error, worker, started_at, created_at, finished_at
FROM queue.all_jobs
WHERE all_jobs.tenant_id = %(tenant_id)s
  AND job_id = (
      SELECT job_keys.job_id FROM queue.job_keys
      WHERE job_keys.tenant_id = %(tenant_id)s AND type = %(type)s AND key = %(key)s
  )

-- name: attempts
-- All attempts at a job that have ended, oldest first.
SELECT outcome, error, worker, started_at, ended_at
FROM queue.all_attempts
WHERE tenant_id = %(tenant_id)s AND job_id = %(job_id)s
ORDER BY claim

-- name: list
-- Jobs, newest first; ids sort by creation time. Each half has its own LIMIT, so that each uses its index.
SELECT
    job_id, type, payload, owner, key, priority, state, run_at, attempts, max_attempts, cancel_requested, progress,
    result, error, worker, started_at, created_at, finished_at
FROM (
    (
        SELECT
            job_id, type, payload, owner, key, priority, state, run_at, attempts, max_attempts, cancel_requested,
            progress, NULL::jsonb AS result,
            (
                SELECT attempts.error FROM queue.attempts
                WHERE attempts.tenant_id = %(tenant_id)s AND attempts.job_id = jobs.job_id
                ORDER BY attempts.claim DESC LIMIT 1
            ) AS error,
            worker, started_at, created_at, NULL::timestamptz AS finished_at
        FROM queue.jobs
        WHERE jobs.tenant_id = %(tenant_id)s
          AND job_id < coalesce(%(before)s::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
          AND (%(state)s::text IS NULL OR state = %(state)s)
          AND (%(type)s::text IS NULL OR type = %(type)s)
          AND (%(owner)s::text IS NULL OR owner = %(owner)s)
        ORDER BY job_id DESC
        LIMIT %(limit)s
    )
    UNION ALL
    (
        SELECT
            job_id, type, payload, owner, key, priority, state, run_at, attempts, max_attempts,
            state = 'cancelled', progress, result, error, worker, started_at, created_at, finished_at
        FROM queue.finished_jobs
        WHERE finished_jobs.tenant_id = %(tenant_id)s
          AND job_id < coalesce(%(before)s::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
          AND (%(state)s::text IS NULL OR state = %(state)s)
          AND (%(type)s::text IS NULL OR type = %(type)s)
          AND (%(owner)s::text IS NULL OR owner = %(owner)s)
        ORDER BY job_id DESC
        LIMIT %(limit)s
    )
) AS both_halves
ORDER BY job_id DESC
LIMIT %(limit)s

-- name: dead
-- Dead letters, newest first. Separate from `list`, so that it uses its own index.
SELECT
    job_id, type, payload, owner, key, priority, state, run_at, attempts, max_attempts,
    false AS cancel_requested, progress, result, error, worker, started_at, created_at, finished_at
FROM queue.finished_jobs
WHERE tenant_id = %(tenant_id)s AND state = 'dead'
  AND job_id < coalesce(%(before)s::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
  AND (%(type)s::text IS NULL OR type = %(type)s)
  AND (%(owner)s::text IS NULL OR owner = %(owner)s)
ORDER BY job_id DESC
LIMIT %(limit)s

-- name: cancel
-- Cancels a job, or requests it from its worker; the state afterwards, or NULL.
SELECT mnemic.cancel_job(%(job_id)s) AS state

-- name: replay
-- Makes a dead job wait again; how many there were, 0 or 1.
SELECT mnemic.replay_jobs(ARRAY[%(job_id)s::uuid]) AS replayed_count

-- name: replay_dead
-- Makes the oldest dead jobs wait again that match, a bounded number; how many there were. A job that another session
-- replays at the same time is not replayed twice.
SELECT mnemic.replay_jobs(ARRAY(
    SELECT job_id FROM queue.finished_jobs
    WHERE finished_jobs.tenant_id = %(tenant_id)s AND state = 'dead'
      AND (%(type)s::text IS NULL OR type = %(type)s)
      AND (%(owner)s::text IS NULL OR owner = %(owner)s)
      AND finished_at >= coalesce(%(since)s::timestamptz, '-infinity')
      AND finished_at < coalesce(%(until)s::timestamptz, 'infinity')
    ORDER BY job_id
    LIMIT %(limit)s
)) AS replayed_count

-- name: counts
-- Jobs by state and type, a bounded number: of each state at most `most` + 1 jobs; done ones among the newest `most` + 1 that
-- have ended, which their index finds without statistics about states.
WITH newest AS MATERIALIZED (
    SELECT state, type FROM queue.finished_jobs
    WHERE finished_jobs.tenant_id = %(tenant_id)s ORDER BY job_id DESC LIMIT %(most)s + 1
),
bounded AS (
    (SELECT state, type FROM queue.jobs
        WHERE jobs.tenant_id = %(tenant_id)s AND state = 'waiting' LIMIT %(most)s + 1)
    UNION ALL
    (SELECT state, type FROM queue.jobs
        WHERE jobs.tenant_id = %(tenant_id)s AND state = 'scheduled' LIMIT %(most)s + 1)
    UNION ALL
    (SELECT state, type FROM queue.jobs
        WHERE jobs.tenant_id = %(tenant_id)s AND state = 'running' LIMIT %(most)s + 1)
    UNION ALL
    (SELECT state, type FROM queue.finished_jobs
        WHERE finished_jobs.tenant_id = %(tenant_id)s AND state = 'dead' ORDER BY job_id DESC LIMIT %(most)s + 1)
    UNION ALL
    (SELECT state, type FROM queue.finished_jobs
        WHERE finished_jobs.tenant_id = %(tenant_id)s AND state = 'cancelled' ORDER BY job_id DESC LIMIT %(most)s + 1)
    UNION ALL
    SELECT state, type FROM newest WHERE state = 'done'
)
SELECT
    state, type, count(*) AS job_count,
    CASE
        WHEN state = 'done' THEN (SELECT count(*) FROM newest) > %(most)s
        ELSE sum(count(*)) OVER (PARTITION BY state) > %(most)s
    END AS has_more
FROM bounded
GROUP BY state, type
ORDER BY state, type

-- name: any_waiting
-- Whether there is an unfinished job of these types, an enabled webhook, or a schedule that is due within the hour:
-- something for a worker to do.
SELECT EXISTS (
    SELECT FROM queue.jobs WHERE jobs.tenant_id = %(tenant_id)s AND type = ANY (%(types)s::text[])
) OR EXISTS (SELECT FROM queue.webhooks WHERE webhooks.tenant_id = %(tenant_id)s AND state = 'enabled')
OR EXISTS (SELECT FROM queue.schedules
    WHERE schedules.tenant_id = %(tenant_id)s
      AND enabled AND next_run_at < now() + interval '1 hour') AS any_waiting
