CREATE TABLE queue.jobs (
    tenant_id uuid NOT NULL,
    job_id uuid NOT NULL DEFAULT mnemic.new_id(),
    -- Nobody's where the job concerns the whole tenant.
    owner text CHECK (char_length(owner) BETWEEN 1 AND 256),
    -- Not by a regular expression: it would be gone through again whenever the job is claimed, for a tenth of the time.
    type text NOT NULL CHECK (
        char_length(type) BETWEEN 1 AND 128
        AND translate(type, 'abcdefghijklmnopqrstuvwxyz0123456789_.:-', '') = '' AND strpos('_.:-', left(type, 1)) = 0
    ),
    -- Python counts characters of JSON and allows 64 KiB; this is what those can take at most as jsonb.
    payload jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(payload) = 'object' AND pg_column_size(payload) <= 1048576),
    priority smallint NOT NULL DEFAULT 0 CHECK (priority BETWEEN -100 AND 100),
    run_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    key text CHECK (char_length(key) BETWEEN 1 AND 256),
    state text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'scheduled', 'running')),
    -- How many attempts count, and how often it was claimed at all: a job that was handed back was not attempted.
    -- No checks here nor on what has ended: only our functions write these, and PostgreSQL would read and prepare
    -- every check anew in every turn of every worker.
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
-- The order in which jobs are claimed, tenant by tenant. The type stands before the priority, so that a worker
-- never reads past the jobs of types that it does not know.
CREATE INDEX jobs_waiting ON queue.jobs (tenant_id, type, priority DESC, run_at, job_id) WHERE state = 'waiting';
CREATE INDEX jobs_scheduled ON queue.jobs (tenant_id, run_at) WHERE state = 'scheduled';
CREATE INDEX jobs_running ON queue.jobs (tenant_id, job_id) WHERE state = 'running';
CALL mnemic.protect('queue.jobs', 'SELECT');
GRANT INSERT (tenant_id, job_id, owner, type, payload, priority, run_at, key, state, max_attempts)
ON queue.jobs TO mnemic_app;
GRANT UPDATE ON queue.jobs TO mnemic_definer;
-- Rows come and go at a high rate: clean up after thousands, not after a share of the table.
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
    -- The last attempt: done, failed, crashed or cancelled. NULL where it was cancelled before it ever began, or no worker knew its type.
    outcome text,
    worker text,
    started_at timestamptz,
    created_at timestamptz NOT NULL,
    finished_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, job_id)
);
COMMENT ON TABLE queue.finished_jobs IS 'Jobs that are done, dead or cancelled; kept for some time.';
CREATE INDEX finished_jobs_dead ON queue.finished_jobs (tenant_id, job_id) WHERE state = 'dead';
-- For pruning. Rows are added in the order of this time, which is what BRIN is made for: it costs next to nothing.
CREATE INDEX finished_jobs_age ON queue.finished_jobs USING brin (finished_at);
CALL mnemic.protect('queue.finished_jobs', 'SELECT');
-- Pruning holds the finished jobs that it forgets, so that two who prune do not wait for each other.
GRANT UPDATE ON queue.finished_jobs TO mnemic_definer;

-- One row for each attempt that did not end its job; the one that did is in queue.finished_jobs itself, so that a
-- job that goes well is written once.
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
-- As queue.finished_jobs has one: attempts are added in the order of this time.
CREATE INDEX attempts_age ON queue.attempts USING brin (ended_at);

-- Which job has which key: unique over jobs that wait, run and have ended.
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

-- What workers do with the jobs of all tenants: show that they live, claim, settle, rescue, prune. Every function
-- here runs as mnemic_definer, and only in a transaction that proves the purpose `working` for `queue`; the one that is
-- called all the time, `take_turn`, makes that proof itself for those who can sign.

-- Who works. Workers belong to no tenant, so their table is not in one of the chambers, and the application
-- reaches it only by the functions below. `beats` counts up while a worker lives.
CREATE TABLE mnemic.workers (
    worker text PRIMARY KEY CHECK (char_length(worker) BETWEEN 1 AND 256),
    types text[] NOT NULL,
    beats bigint NOT NULL DEFAULT 1,
    started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    seen_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
COMMENT ON TABLE mnemic.workers IS 'Workers that are alive, or died a moment ago.';
GRANT SELECT, INSERT, UPDATE, DELETE ON mnemic.workers TO mnemic_definer;
