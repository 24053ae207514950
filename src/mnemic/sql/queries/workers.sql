-- What workers do, for all tenants, in transactions that prove the purpose `working`. See migration 0012.

-- name: join
-- Puts a worker on the list, with the types of jobs that it knows.
SELECT mnemic.register_worker(%(worker)s, %(types)s::text[])

-- name: beat
-- A sign of life; whether the worker is on the list.
SELECT mnemic.record_heartbeat(%(worker)s, %(types)s::text[]) AS is_on_list

-- name: list
-- All workers: how often each has beaten, and for how many seconds not any more.
SELECT worker, types, beats, silent_s, started_at FROM mnemic.list_workers()

-- name: strike
-- Takes a worker off the list, if it has not beaten since (NULL: in any case); whether it was taken off.
SELECT mnemic.remove_worker(%(worker)s, %(beats)s::bigint) AS struck

-- name: promote
-- Lets scheduled jobs wait whose time has come; in how many seconds the next one is due, or NULL.
SELECT mnemic.promote_jobs(%(only_tenant)s::uuid, %(most)s) AS next_due_s

-- name: turn
-- Ends attempts at jobs, then claims waiting ones, fairly between tenants, and returns these. Signed.
SELECT tenant_id, job_id, owner, type, payload, attempt, claim, progress
FROM mnemic.settle_and_claim_jobs(
    %(worker)s, %(outcomes)s, %(types)s::text[], %(slots)s, %(after_tenant)s::uuid, %(only_tenant)s::uuid,
    %(signature)s
)

-- name: tenant_names
-- The names of tenants whose jobs were claimed.
SELECT tenant_id, name FROM mnemic.tenant_names(%(tenant_ids)s::uuid[])

-- name: held
-- The jobs that are running on a worker as the database knows it.
SELECT tenant_id, job_id, claim, cancel_requested FROM mnemic.list_claimed_jobs(%(worker)s)

-- name: report
-- Notes how far jobs have come.
SELECT mnemic.record_job_progress(%(worker)s, %(reports)s)

-- name: rescue
-- Takes the jobs of workers that are gone; how many those were.
SELECT mnemic.requeue_jobs_of_dead_workers() AS rescued

-- name: bury_unknown
-- Makes dead letters of jobs whose type no worker has known for a long time; how many those were.
SELECT mnemic.dead_letter_unknown_jobs(make_interval(secs => %(patience_s)s), %(most)s) AS buried
