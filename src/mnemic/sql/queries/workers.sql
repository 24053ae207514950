-- Operations of workers, for all tenants, in transactions that prove the purpose `working`; see definitions/jobs.

-- name: register
-- Registers a worker with the job types that it knows.
SELECT mnemic.register_worker(%(worker)s, %(types)s::text[])

-- name: record_heartbeat
-- Records a heartbeat; whether the worker is registered.
SELECT mnemic.record_heartbeat(%(worker)s, %(types)s::text[]) AS is_registered

-- name: list
-- All workers with their heartbeat counts and the seconds since the last heartbeat.
SELECT worker, types, beats, silent_s, started_at FROM mnemic.list_workers()

-- name: remove
-- Removes a worker that has sent no heartbeat since (NULL: unconditionally); whether it was removed.
SELECT mnemic.remove_worker(%(worker)s, %(beats)s::bigint) AS is_removed

-- name: promote
-- Promotes due scheduled jobs to waiting; the seconds until the next one is due, or NULL.
SELECT mnemic.promote_jobs(%(only_tenant)s::uuid, %(most)s) AS next_due_s

-- name: settle_and_claim
-- Settles ended jobs, then claims waiting ones, fairly between tenants, and returns these. Signed.
SELECT tenant_id, job_id, owner, type, payload, attempt, claim, progress
FROM mnemic.settle_and_claim_jobs(
    %(worker)s, %(outcomes)s, %(types)s::text[], %(slots)s, %(after_tenant)s::uuid, %(only_tenant)s::uuid,
    %(signature)s
)

-- name: tenant_names
-- The names of tenants whose jobs were claimed.
SELECT tenant_id, name FROM mnemic.tenant_names(%(tenant_ids)s::uuid[])

-- name: claimed_jobs
-- The jobs that a worker runs according to the database.
SELECT tenant_id, job_id, claim, cancel_requested FROM mnemic.list_claimed_jobs(%(worker)s)

-- name: record_progress
-- Stores the progress of jobs.
SELECT mnemic.record_job_progress(%(worker)s, %(reports)s)

-- name: requeue_jobs_of_dead_workers
-- Requeues the jobs of workers that are gone; how many there were.
SELECT mnemic.requeue_jobs_of_dead_workers() AS requeued

-- name: dead_letter_unknown
-- Moves jobs to the dead letters whose type no worker has known for a long time; how many there were.
SELECT mnemic.dead_letter_unknown_jobs(make_interval(secs => %(waited_max_s)s), %(most)s) AS dead_lettered
