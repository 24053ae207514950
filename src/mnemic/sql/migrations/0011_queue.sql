-- Jobs: work that is done later, by whichever worker knows how.
--
-- A job is *waiting*, or *scheduled* until its time comes; a worker claims it and it is *running*; then it is
-- *done*, or goes back: to scheduled when it failed, to waiting when its worker died or handed it back. What has
-- failed or crashed `max_attempts` times is *dead*, and waits for somebody to replay it. Whoever wants it no
-- longer makes it *cancelled*. `queue.jobs` holds only what is still to be done, so that finding the next job
-- takes as long on the first day as after ten million jobs; what has ended is in `queue.finished_jobs`.
--
-- Tenants add and read jobs like anything else of theirs. Workers serve all tenants: the functions that they
-- call run as mnemic_definer, and only in a transaction that proves the purpose `working` for `queue`.
-- There are no foreign keys to state.tenants: the policy proves the tenant already, and a lock on the tenant's row
-- in every transaction that adds a job is a price without a gain.

-- Says that, once this transaction is committed, others should look at jobs or events. Mnemic's pool reads the
-- setting after the commit and sends the NOTIFY then, in a transaction of its own: in this one, its lock would make
-- all commits of the server wait for each other.
CREATE FUNCTION mnemic.hint(channel text) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    hints text[] := string_to_array(coalesce(current_setting('mnemic.hints', true), ''), ',');
BEGIN
    IF channel <> ALL (hints) THEN
        PERFORM set_config('mnemic.hints', array_to_string(hints || channel, ','), false);
    END IF;
END
$$;
GRANT EXECUTE ON FUNCTION mnemic.hint(text) TO mnemic_app, mnemic_definer;

-- Which server process this is; no other one alive has its number, and none of an earlier start of the server counts.
CREATE FUNCTION mnemic.process() RETURNS text
LANGUAGE sql STABLE PARALLEL RESTRICTED
RETURN pg_backend_pid() || '@' || (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint;

-- What Mnemic would sign with its key for a purpose, a subject, and a moment or a process. Only for
-- those who check one.
CREATE FUNCTION mnemic.signature(purpose text, subject text, place text) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN (
        SELECT encode(sha256(signing_key.outer_block || sha256(
            signing_key.inner_block || convert_to(purpose || E'\n' || subject || E'\n' || place, 'UTF8')
        )), 'hex')
        FROM mnemic.signing_key
    );
END
$$;
REVOKE ALL ON FUNCTION mnemic.signature(text, text, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION mnemic.signature(text, text, text) TO mnemic_definer;

-- A statement that is a transaction by itself begins with this: it proves the tenant for whom it is signed, as a round trip of
-- its own does in other transactions. Without a signature it does nothing, so that one query serves both.
CREATE FUNCTION mnemic.enter(tenant uuid, signed text) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF signed IS NOT NULL THEN
        -- Hashed before they are compared, so that the time it takes tells nothing.
        IF sha256(convert_to(signed, 'UTF8'))
            <> sha256(convert_to(mnemic.signature('enter', tenant::text, mnemic.process()), 'UTF8')) THEN
            RAISE insufficient_privilege USING MESSAGE = 'the signature does not hold for this tenant';
        END IF;
        PERFORM
            set_config('mnemic.tenant', tenant::text, true),
            set_config('mnemic.tenant_proof', mnemic.signature('tenant', tenant::text, mnemic.moment()), true);
    END IF;
    RETURN tenant;
END
$$;
CALL mnemic.seal('mnemic.enter(uuid, text)');

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

CREATE VIEW queue.all_jobs WITH (security_invoker = true) AS
SELECT
    tenant_id, job_id, owner, type, payload, priority, run_at, key, state, attempts, max_attempts, claims, progress,
    cancel_requested, NULL::jsonb AS result, NULL::jsonb AS error, worker, started_at, created_at,
    NULL::timestamptz AS finished_at
FROM queue.jobs
UNION ALL
SELECT
    tenant_id, job_id, owner, type, payload, priority, run_at, key, state, attempts, max_attempts, claims, progress,
    state = 'cancelled', result, error, worker, started_at, created_at, finished_at
FROM queue.finished_jobs;

CREATE VIEW queue.all_attempts WITH (security_invoker = true) AS
SELECT tenant_id, job_id, claim, outcome, error, worker, started_at, ended_at FROM queue.attempts
UNION ALL
SELECT tenant_id, job_id, claims, outcome, error, worker, started_at, finished_at
FROM queue.finished_jobs
WHERE outcome IS NOT NULL;
GRANT SELECT ON queue.all_jobs, queue.all_attempts TO mnemic_app;

CREATE FUNCTION mnemic.hint_jobs() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM mnemic.hint('jobs');
    RETURN NULL;
END
$$;
CREATE TRIGGER hint_jobs AFTER INSERT ON queue.jobs FOR EACH STATEMENT EXECUTE FUNCTION mnemic.hint_jobs();

-- An import, which is what adds running jobs as mnemic_definer, brings no worker along.
CREATE FUNCTION mnemic.stop_imported_job() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    NEW.state := 'waiting';
    NEW.worker := NULL;
    NEW.started_at := NULL;
    RETURN NEW;
END
$$;
CREATE TRIGGER stop_imported_job BEFORE INSERT ON queue.jobs FOR EACH ROW
WHEN (NEW.state = 'running' AND current_user = 'mnemic_definer')
EXECUTE FUNCTION mnemic.stop_imported_job();

-- What a worker may do, in the functions of migration 0012, to the jobs of all tenants. Each of them names the tenant in its
-- conditions where it can, since a policy with an OR in it cannot be looked up in an index.
CREATE POLICY working ON queue.jobs TO mnemic_definer USING ((SELECT mnemic.verified('working')) = 'queue');
CREATE POLICY working ON queue.finished_jobs TO mnemic_definer USING ((SELECT mnemic.verified('working')) = 'queue');
CREATE POLICY working ON queue.attempts TO mnemic_definer USING ((SELECT mnemic.verified('working')) = 'queue');
CREATE POLICY working ON queue.job_keys TO mnemic_definer USING ((SELECT mnemic.verified('working')) = 'queue');
CREATE POLICY working ON state.tenants FOR SELECT TO mnemic_definer
USING ((SELECT mnemic.verified('working')) = 'queue');
GRANT SELECT ON state.tenants TO mnemic_definer;

-- For a tenant, within its own policy: cancels a job. One that runs is only asked to stop; its worker does it.
-- Returns the state that the job has afterwards; NULL if it has ended already or is none of this tenant's.
CREATE FUNCTION mnemic.cancel_job(cancelled uuid) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    verified_tenant uuid := mnemic.current_tenant();
BEGIN
    WITH gone AS (
        DELETE FROM queue.jobs
        WHERE jobs.tenant_id = verified_tenant AND jobs.job_id = cancelled AND jobs.state <> 'running'
        RETURNING jobs.*
    )
    INSERT INTO queue.finished_jobs (
        tenant_id, job_id, owner, type, payload, priority, run_at, key, state, attempts, max_attempts, claims,
        progress, created_at
    )
    SELECT
        gone.tenant_id, gone.job_id, gone.owner, gone.type, gone.payload, gone.priority, gone.run_at, gone.key,
        'cancelled', gone.attempts, gone.max_attempts, gone.claims, gone.progress, gone.created_at
    FROM gone;
    IF FOUND THEN
        RETURN 'cancelled';
    END IF;
    UPDATE queue.jobs SET cancel_requested = true
    WHERE jobs.tenant_id = verified_tenant AND jobs.job_id = cancelled AND jobs.state = 'running';
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    PERFORM mnemic.hint('jobs');
    RETURN 'running';
END
$$;
CALL mnemic.seal('mnemic.cancel_job(uuid)');

-- For a tenant, within its own policy: lets a dead job wait again, with all its attempts before it. Its last attempt
-- joins those that did not end it. Returns whether there was such a dead job.
CREATE FUNCTION mnemic.replay_job(replayed uuid) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    verified_tenant uuid := mnemic.current_tenant();
    dead queue.finished_jobs;
BEGIN
    DELETE FROM queue.finished_jobs
    WHERE finished_jobs.tenant_id = verified_tenant AND finished_jobs.job_id = replayed
      AND finished_jobs.state = 'dead'
    RETURNING * INTO dead;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    IF dead.outcome IS NOT NULL THEN
        INSERT INTO queue.attempts (tenant_id, job_id, claim, owner, outcome, error, worker, started_at, ended_at)
        VALUES (dead.tenant_id, dead.job_id, dead.claims, dead.owner, dead.outcome, dead.error, dead.worker,
            dead.started_at, dead.finished_at);
    END IF;
    INSERT INTO queue.jobs (
        tenant_id, job_id, owner, type, payload, priority, key, max_attempts, claims, progress, created_at
    ) VALUES (
        dead.tenant_id, dead.job_id, dead.owner, dead.type, dead.payload, dead.priority, dead.key, dead.max_attempts,
        dead.claims, dead.progress, dead.created_at
    );
    RETURN true;
END
$$;
CALL mnemic.seal('mnemic.replay_job(uuid)');
