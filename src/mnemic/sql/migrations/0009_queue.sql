-- Jobs: background work.
--
-- A job is *waiting*, or *scheduled* until its time comes; a worker claims it and it is *running*; then it is *done*, or
-- goes back: to scheduled when it failed, to waiting when its worker died or handed it back. A job that has failed or
-- crashed `max_attempts` times is *dead* (a dead letter) until somebody replays it. A job can be *cancelled*. `queue.jobs`
-- holds only unfinished jobs, so that finding the next one stays fast after ten million jobs; finished ones are in
-- `queue.finished_jobs`.
--
-- Tenants add and read jobs within their policy. Workers serve all tenants: the functions that they call run as
-- mnemic_definer and need a proof of the purpose `working`. There are no foreign keys to state.tenants: the policy verifies
-- the tenant, and they would lock the tenant's row in every transaction that adds a job.

CREATE TABLE queue.jobs (
    tenant_id uuid NOT NULL,
    job_id uuid NOT NULL DEFAULT mnemic.new_id(),
    -- NULL if the job concerns the whole tenant.
    owner text CHECK (char_length(owner) BETWEEN 1 AND 256),
    -- Not a regular expression: it is checked again whenever the job is claimed, and would take a tenth of that time.
    type text NOT NULL CHECK (
        char_length(type) BETWEEN 1 AND 128
        AND translate(type, 'abcdefghijklmnopqrstuvwxyz0123456789_.:-', '') = '' AND strpos('_.:-', left(type, 1)) = 0
    ),
    -- Python limits the JSON text to 64 KiB; this is the maximum that such a text takes as jsonb.
    payload jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(payload) = 'object' AND pg_column_size(payload) <= 1048576),
    priority smallint NOT NULL DEFAULT 0 CHECK (priority BETWEEN -100 AND 100),
    run_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    key text CHECK (char_length(key) BETWEEN 1 AND 256),
    state text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'scheduled', 'running')),
    -- `claims` counts every claim, `attempts` only those that count: a job that was handed back was not attempted.
    -- No CHECK constraints here nor in queue.finished_jobs: only our functions write these columns, and PostgreSQL
    -- would prepare every constraint in every cycle of every worker.
    attempts smallint NOT NULL DEFAULT 0,
    max_attempts smallint NOT NULL DEFAULT 5 CHECK (max_attempts BETWEEN 1 AND 100),
    claims int NOT NULL DEFAULT 0,
    worker text,
    started_at timestamptz,
    cancel_requested boolean NOT NULL DEFAULT false,
    progress jsonb,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, job_id),
    CONSTRAINT runs_on_a_worker CHECK ((state = 'running') = (worker IS NOT NULL))
);
COMMENT ON TABLE queue.jobs IS 'Work that is still to be done.';
-- The order in which jobs are claimed, tenant by tenant. The type comes before the priority, so that a worker never
-- reads jobs of types that it does not know.
CREATE INDEX jobs_waiting ON queue.jobs (tenant_id, type, priority DESC, run_at, job_id) WHERE state = 'waiting';
CREATE INDEX jobs_scheduled ON queue.jobs (tenant_id, run_at) WHERE state = 'scheduled';
CREATE INDEX jobs_running ON queue.jobs (tenant_id, job_id) WHERE state = 'running';
CALL mnemic.protect('queue.jobs', 'SELECT');
GRANT INSERT (tenant_id, job_id, owner, type, payload, priority, run_at, key, state, max_attempts)
ON queue.jobs TO mnemic_app;
GRANT UPDATE ON queue.jobs TO mnemic_definer;
-- High churn: vacuum after thousands of dead rows, not after a share of the table.
ALTER TABLE queue.jobs SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

CREATE TABLE queue.finished_jobs (
    tenant_id uuid NOT NULL,
    job_id uuid NOT NULL,
    owner text,
    type text NOT NULL,
    payload jsonb NOT NULL,
    priority smallint NOT NULL,
    run_at timestamptz NOT NULL,
    key text,
    state text NOT NULL CHECK (state IN ('done', 'dead', 'cancelled')),
    attempts smallint NOT NULL,
    max_attempts smallint NOT NULL,
    claims int NOT NULL,
    progress jsonb,
    result jsonb,
    error jsonb,
    -- The last attempt: done, failed, crashed or cancelled. NULL if the job was cancelled before its first attempt, or no
    -- worker knew its type.
    outcome text,
    worker text,
    started_at timestamptz,
    created_at timestamptz NOT NULL,
    finished_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, job_id)
);
COMMENT ON TABLE queue.finished_jobs IS 'Jobs that are done, dead or cancelled; kept for some time.';
CREATE INDEX finished_jobs_dead ON queue.finished_jobs (tenant_id, job_id) WHERE state = 'dead';
-- For pruning. Rows are appended in the order of this time, so a small BRIN index is enough.
CREATE INDEX finished_jobs_age ON queue.finished_jobs USING brin (finished_at);
CALL mnemic.protect('queue.finished_jobs', 'SELECT');
-- prune_jobs locks the rows that it deletes with SKIP LOCKED, so that two sessions do not wait for each other.
GRANT UPDATE ON queue.finished_jobs TO mnemic_definer;

-- One row per attempt that did not end its job; the last attempt is in queue.finished_jobs, so that a successful job is
-- written once.
CREATE TABLE queue.attempts (
    tenant_id uuid NOT NULL,
    job_id uuid NOT NULL,
    claim int NOT NULL,
    owner text CHECK (char_length(owner) BETWEEN 1 AND 256),
    outcome text NOT NULL CHECK (outcome IN ('failed', 'crashed', 'handed_back', 'cancelled')),
    error jsonb,
    worker text NOT NULL,
    started_at timestamptz NOT NULL,
    ended_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, job_id, claim)
);
COMMENT ON TABLE queue.attempts IS 'Attempts at jobs that were not the last one.';
CALL mnemic.protect('queue.attempts', 'SELECT');
-- For pruning, as in queue.finished_jobs.
CREATE INDEX attempts_age ON queue.attempts USING brin (ended_at);

-- Idempotency keys: unique over unfinished and finished jobs.
CREATE TABLE queue.job_keys (
    tenant_id uuid NOT NULL,
    type text NOT NULL,
    key text NOT NULL CHECK (char_length(key) BETWEEN 1 AND 256),
    job_id uuid NOT NULL,
    owner text CHECK (char_length(owner) BETWEEN 1 AND 256),
    PRIMARY KEY (tenant_id, type, key)
);
COMMENT ON TABLE queue.job_keys IS 'The key under which a job was added, so that it is not added twice.';
CALL mnemic.protect('queue.job_keys', 'SELECT, INSERT');

-- Registered workers. They belong to no tenant, so the table is in the schema `mnemic`, and the application reaches it only
-- through functions. `beats` is the heartbeat counter: it rises while a worker lives.
CREATE TABLE mnemic.workers (
    worker text PRIMARY KEY CHECK (char_length(worker) BETWEEN 1 AND 256),
    types text[] NOT NULL,
    beats bigint NOT NULL DEFAULT 1,
    started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    seen_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
COMMENT ON TABLE mnemic.workers IS 'Workers that are alive, or died a moment ago.';
GRANT SELECT, INSERT, UPDATE, DELETE ON mnemic.workers TO mnemic_definer;
