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

CREATE FUNCTION mnemic.require_working() RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF (mnemic.verified('working') = 'queue') IS NOT TRUE THEN
        RAISE insufficient_privilege USING MESSAGE = 'working on jobs needs a proof of working';
    END IF;
END
$$;
GRANT EXECUTE ON FUNCTION mnemic.require_working() TO mnemic_definer;

-- Puts a worker on the list of the living; only those that are on it are given jobs.
CREATE FUNCTION mnemic.join_workers(joining text, known_types text[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM mnemic.require_working();
    INSERT INTO mnemic.workers (worker, types) VALUES (joining, known_types)
    ON CONFLICT (worker) DO UPDATE
    SET beats = workers.beats + 1, seen_at = clock_timestamp(), types = excluded.types;
END
$$;
CALL mnemic.seal('mnemic.join_workers(text, text[])');

-- A sign of life. Returns false for a worker that is not on the list any more: it was taken for dead, its jobs are
-- others' by now, and it must know that before it joins again.
CREATE FUNCTION mnemic.beat(beating text, known_types text[]) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM mnemic.require_working();
    UPDATE mnemic.workers SET beats = workers.beats + 1, seen_at = clock_timestamp(), types = known_types
    WHERE workers.worker = beating;
    RETURN FOUND;
END
$$;
CALL mnemic.seal('mnemic.beat(text, text[])');

-- All workers: how often each has beaten, and for how many seconds not any more, by this server's clock.
CREATE FUNCTION mnemic.list_workers()
RETURNS TABLE (worker text, types text[], beats bigint, silent_s double precision, started_at timestamptz)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM mnemic.require_working();
    RETURN QUERY
    SELECT
        workers.worker, workers.types, workers.beats,
        extract(epoch FROM clock_timestamp() - workers.seen_at)::double precision, workers.started_at
    FROM mnemic.workers
    ORDER BY workers.worker;
END
$$;
CALL mnemic.seal('mnemic.list_workers()');

-- Takes a worker off the list: one that leaves, or one that is dead since it has not beaten again (`seen_beats`;
-- NULL: whatever it is). Waits for a claim that the worker is just making.
CREATE FUNCTION mnemic.strike_worker(struck text, seen_beats bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM mnemic.require_working();
    DELETE FROM mnemic.workers WHERE workers.worker = struck AND workers.beats = coalesce(seen_beats, workers.beats);
    RETURN FOUND;
END
$$;
CALL mnemic.seal('mnemic.strike_worker(text, bigint)');

-- 30 seconds after the first failed attempt, doubling up to an hour.
CREATE FUNCTION mnemic.retry_delay(attempts int) RETURNS interval
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN least(30 * 2 ^ (attempts - 1), 3600) * interval '1 second';
GRANT EXECUTE ON FUNCTION mnemic.retry_delay(int) TO mnemic_app, mnemic_definer;

-- Lets scheduled jobs whose time has come wait like the others, at most `most` of each tenant. Returns in how many
-- seconds the next one is due; 0 when there are more, NULL when there are none.
CREATE FUNCTION mnemic.promote_jobs(only_tenant uuid, most int) RETURNS double precision
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
DECLARE
    candidate uuid := '00000000-0000-0000-0000-000000000000';
    due timestamptz;
    next_due timestamptz;
BEGIN
    PERFORM mnemic.require_working();
    LOOP
        -- From tenant to tenant by the index: one look each, however many jobs each of them has.
        SELECT jobs.tenant_id, jobs.run_at INTO candidate, due FROM queue.jobs
        WHERE jobs.state = 'scheduled' AND jobs.tenant_id > candidate
          AND (only_tenant IS NULL OR jobs.tenant_id = only_tenant)
        ORDER BY jobs.tenant_id, jobs.run_at LIMIT 1;
        EXIT WHEN NOT FOUND;
        IF due <= clock_timestamp() THEN
            UPDATE queue.jobs SET state = 'waiting' FROM (
                SELECT ripe.job_id FROM queue.jobs AS ripe
                WHERE ripe.tenant_id = candidate AND ripe.state = 'scheduled' AND ripe.run_at <= clock_timestamp()
                ORDER BY ripe.run_at LIMIT most FOR UPDATE SKIP LOCKED
            ) AS ripe
            WHERE jobs.tenant_id = candidate AND jobs.job_id = ripe.job_id;
            SELECT min(jobs.run_at) INTO due FROM queue.jobs
            WHERE jobs.state = 'scheduled' AND jobs.tenant_id = candidate;
        END IF;
        next_due := least(next_due, due);
    END LOOP;
    RETURN greatest(extract(epoch FROM next_due - clock_timestamp()), 0);
END
$$;
CALL mnemic.seal('mnemic.promote_jobs(uuid, int)');

-- Claims at most `slots` waiting jobs of types that the worker knows. Fair between tenants: each that has such jobs
-- gets its share of the slots, beginning behind the tenant that this worker served last; only what the others leave
-- over goes to those with more. Nothing is claimed for a worker that is not on the list of the living. Only for take_turn.
CREATE FUNCTION mnemic.claim_jobs(
    claimer text, known_types text[], slots int, after_tenant uuid, only_tenant uuid
) RETURNS TABLE (
    tenant_id uuid, job_id uuid, owner text, type text, payload jsonb, attempt smallint, claim int, progress jsonb
)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
-- A plan is kept, perhaps from when the table was empty: it must be the one that is right when it is full. Making a
-- new one for each call would take as long as the rest of it.
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
DECLARE
    hungry uuid[] := '{}';
    served int;
    share int;
BEGIN
    PERFORM FROM mnemic.workers WHERE workers.worker = claimer FOR KEY SHARE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    hungry := CASE WHEN only_tenant IS NULL THEN mnemic.tenants_with_jobs(known_types, slots, after_tenant)
                   ELSE ARRAY[only_tenant] END;
    WHILE slots > 0 AND cardinality(hungry) > 0 LOOP
        DECLARE
            candidates uuid[] := hungry;
        BEGIN
            hungry := '{}';
            FOR number IN 1 .. cardinality(candidates) LOOP
                share := ceil(slots::numeric / (cardinality(candidates) - number + 1));
                RETURN QUERY
                UPDATE queue.jobs AS claimed
                SET state = 'running', worker = claimer, started_at = clock_timestamp(),
                    attempts = claimed.attempts + 1, claims = claimed.claims + 1
                FROM (
                    SELECT first_ones.place
                    FROM unnest(known_types) AS known (type)
                    CROSS JOIN LATERAL (
                        SELECT jobs.ctid AS place, jobs.job_id, jobs.priority, jobs.run_at FROM queue.jobs
                        WHERE jobs.tenant_id = candidates[number] AND jobs.type = known.type AND jobs.state = 'waiting'
                        ORDER BY jobs.priority DESC, jobs.run_at, jobs.job_id
                        LIMIT share FOR UPDATE SKIP LOCKED
                    ) AS first_ones
                    ORDER BY first_ones.priority DESC, first_ones.run_at, first_ones.job_id
                    LIMIT share
                ) AS chosen
                -- They are locked, so that their places are the last ones.
                WHERE claimed.tenant_id = candidates[number] AND claimed.ctid = chosen.place
                RETURNING claimed.tenant_id, claimed.job_id, claimed.owner, claimed.type, claimed.payload,
                    claimed.attempts, claimed.claims, claimed.progress;
                GET DIAGNOSTICS served = ROW_COUNT;
                slots := slots - served;
                EXIT WHEN slots <= 0;
                IF served = share THEN
                    hungry := hungry || candidates[number];
                END IF;
            END LOOP;
        END;
    END LOOP;
END
$$;

-- Up to `most` tenants that have waiting jobs of these types, in the order of their ids, from the one behind
-- `after_tenant` on and around. Only for claim_jobs.
CREATE FUNCTION mnemic.tenants_with_jobs(known_types text[], most int, after_tenant uuid) RETURNS uuid[]
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
AS $$
DECLARE
    nobody CONSTANT uuid := '00000000-0000-0000-0000-000000000000';
    candidate uuid := coalesce(after_tenant, nobody);
    is_second_round boolean := after_tenant IS NULL;
    first_type text;
    found_tenants uuid[] := '{}';
BEGIN
    WHILE cardinality(found_tenants) < most LOOP
        SELECT jobs.tenant_id, jobs.type INTO candidate, first_type FROM queue.jobs
        WHERE jobs.state = 'waiting' AND jobs.tenant_id > candidate
        ORDER BY jobs.tenant_id LIMIT 1;
        IF candidate IS NULL OR is_second_round AND candidate > after_tenant THEN
            EXIT WHEN is_second_round;
            is_second_round := true;
            candidate := nobody;
        ELSIF first_type = ANY (known_types) OR EXISTS (
            SELECT FROM unnest(known_types) AS known (type)
            CROSS JOIN LATERAL (
                SELECT FROM queue.jobs
                WHERE jobs.tenant_id = candidate AND jobs.type = known.type AND jobs.state = 'waiting' LIMIT 1
            ) AS one
        ) THEN
            found_tenants := found_tenants || candidate;
        END IF;
    END LOOP;
    RETURN found_tenants;
END
$$;
REVOKE ALL ON FUNCTION mnemic.tenants_with_jobs(text[], int, uuid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION mnemic.tenants_with_jobs(text[], int, uuid) TO mnemic_definer;
REVOKE ALL ON FUNCTION mnemic.claim_jobs(text, text[], int, uuid, uuid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION mnemic.claim_jobs(text, text[], int, uuid, uuid) TO mnemic_definer;

-- The names of tenants, for the worker that has jobs of theirs.
CREATE FUNCTION mnemic.tenant_names(tenants uuid[]) RETURNS TABLE (tenant_id uuid, name text)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM mnemic.require_working();
    RETURN QUERY SELECT found.tenant_id, found.name FROM state.tenants AS found WHERE found.tenant_id = ANY (tenants);
END
$$;
CALL mnemic.seal('mnemic.tenant_names(uuid[])');

-- The jobs that a worker holds, and whether somebody asked to cancel them.
CREATE FUNCTION mnemic.held_jobs(holder text)
RETURNS TABLE (tenant_id uuid, job_id uuid, claim int, cancel_requested boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM mnemic.require_working();
    RETURN QUERY
    SELECT jobs.tenant_id, jobs.job_id, jobs.claims, jobs.cancel_requested
    FROM queue.jobs
    WHERE jobs.state = 'running' AND jobs.worker = holder;
END
$$;
CALL mnemic.seal('mnemic.held_jobs(text)');

-- Ends attempts at jobs, many at once. Each of `outcomes` has tenant_id, job_id, claim, outcome (done, failed,
-- cancelled, handed_back) and perhaps result, error, progress. What the worker does not hold any more, by its name and
-- its claim, is left alone: somebody else has it. Only for take_turn.
CREATE FUNCTION mnemic.settle_jobs(holder text, outcomes jsonb) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
DECLARE
    ended bigint;
BEGIN
    WITH given AS MATERIALIZED (
        SELECT * FROM jsonb_to_recordset(outcomes) AS given (
            tenant_id uuid, job_id uuid, claim int, outcome text, result jsonb, error jsonb, progress jsonb
        ) WHERE given.outcome <> 'handed_back'
    ),
    gone AS (
        DELETE FROM queue.jobs USING given
        -- Only what runs has a worker. Asking for the state would lead to the index of running jobs, which is full
        -- of those that ran a moment ago.
        WHERE jobs.tenant_id = given.tenant_id AND jobs.job_id = given.job_id
          AND jobs.worker = holder AND jobs.claims = given.claim
          AND (given.outcome <> 'failed' OR jobs.attempts >= jobs.max_attempts OR jobs.cancel_requested)
        RETURNING jobs.*, given.outcome, given.result, given.error, given.progress AS last_progress
    )
    INSERT INTO queue.finished_jobs (
        tenant_id, job_id, owner, type, payload, priority, run_at, key, state, attempts, max_attempts, claims,
        progress, result, error, outcome, worker, started_at, created_at
    )
    SELECT
        gone.tenant_id, gone.job_id, gone.owner, gone.type, gone.payload, gone.priority, gone.run_at, gone.key,
        CASE WHEN gone.outcome = 'done' THEN 'done'
             WHEN gone.outcome = 'failed' AND NOT gone.cancel_requested THEN 'dead' ELSE 'cancelled' END,
        gone.attempts, gone.max_attempts, gone.claims, coalesce(gone.last_progress, gone.progress), gone.result,
        gone.error, gone.outcome, gone.worker, gone.started_at, gone.created_at
    FROM gone;
    GET DIAGNOSTICS ended = ROW_COUNT;
    IF ended < jsonb_array_length(outcomes) THEN
        PERFORM mnemic.return_jobs(holder, outcomes);
    END IF;
END
$$;

-- The part of settle_jobs for attempts that did not end their job: it failed and will be tried again, or it was handed
-- back without having failed. Only for settle_jobs.
CREATE FUNCTION mnemic.return_jobs(holder text, outcomes jsonb) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    WITH given AS MATERIALIZED (
        SELECT * FROM jsonb_to_recordset(outcomes) AS given (
            tenant_id uuid, job_id uuid, claim int, outcome text, error jsonb, progress jsonb
        ) WHERE given.outcome IN ('failed', 'handed_back')
    ),
    held AS (
        SELECT jobs.*, given.outcome, given.error, given.progress AS last_progress
        FROM queue.jobs JOIN given ON jobs.tenant_id = given.tenant_id AND jobs.job_id = given.job_id
        WHERE jobs.state = 'running' AND jobs.worker = holder AND jobs.claims = given.claim
        FOR UPDATE OF jobs
    ),
    noted AS (
        INSERT INTO queue.attempts (tenant_id, job_id, claim, owner, outcome, error, worker, started_at)
        SELECT held.tenant_id, held.job_id, held.claims, held.owner, held.outcome, held.error, held.worker, held.started_at
        FROM held
    )
    UPDATE queue.jobs
    SET worker = NULL, started_at = NULL, progress = coalesce(held.last_progress, held.progress),
        state = CASE held.outcome WHEN 'failed' THEN 'scheduled' ELSE 'waiting' END,
        attempts = held.attempts - CASE held.outcome WHEN 'failed' THEN 0 ELSE 1 END,
        run_at = CASE held.outcome WHEN 'failed' THEN clock_timestamp() + mnemic.retry_delay(held.attempts)
                 ELSE held.run_at END
    FROM held
    WHERE jobs.tenant_id = held.tenant_id AND jobs.job_id = held.job_id;
END
$$;
REVOKE ALL ON FUNCTION mnemic.return_jobs(text, jsonb) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION mnemic.return_jobs(text, jsonb) TO mnemic_definer;
REVOKE ALL ON FUNCTION mnemic.settle_jobs(text, jsonb) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION mnemic.settle_jobs(text, jsonb) TO mnemic_definer;

-- One turn of a worker: settles what has ended, claims what comes next. A busy worker does nothing else, so this is
-- one statement without a transaction around it, and one round trip. Instead of proving `working` for a transaction,
-- it carries a signature for the server process that runs it. That is a parameter: it stays nowhere, so that SQL which
-- runs in the same process later cannot find it.
CREATE FUNCTION mnemic.take_turn(
    holder text, outcomes jsonb, known_types text[], slots int, after_tenant uuid, only_tenant uuid, signed text
) RETURNS TABLE (
    tenant_id uuid, job_id uuid, owner text, type text, payload jsonb, attempt smallint, claim int, progress jsonb
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    -- Hashed before they are compared, so that the time it takes tells nothing.
    IF (sha256(convert_to(signed, 'UTF8'))
        = sha256(convert_to(mnemic.signature('turn', 'queue', mnemic.process()), 'UTF8'))) IS NOT TRUE THEN
        RAISE insufficient_privilege USING MESSAGE = 'working on jobs needs a proof of working';
    END IF;
    PERFORM
        set_config('mnemic.working', 'queue', true),
        set_config('mnemic.working_proof', mnemic.signature('working', 'queue', mnemic.moment()), true);
    IF outcomes <> '[]' THEN
        PERFORM mnemic.settle_jobs(holder, outcomes);
    END IF;
    IF slots > 0 THEN
        RETURN QUERY SELECT * FROM mnemic.claim_jobs(holder, known_types, slots, after_tenant, only_tenant);
    END IF;
END
$$;
CALL mnemic.seal('mnemic.take_turn(text, jsonb, text[], int, uuid, uuid, text)');

-- Notes how far jobs have come. `reports` is an array of objects with tenant_id, job_id, claim and progress.
CREATE FUNCTION mnemic.report_jobs(holder text, reports jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM mnemic.require_working();
    UPDATE queue.jobs SET progress = given.progress
    FROM jsonb_to_recordset(reports) AS given (tenant_id uuid, job_id uuid, claim int, progress jsonb)
    WHERE jobs.tenant_id = given.tenant_id AND jobs.job_id = given.job_id
      AND jobs.state = 'running' AND jobs.worker = holder AND jobs.claims = given.claim;
END
$$;
CALL mnemic.seal('mnemic.report_jobs(text, jsonb)');

-- Takes the running jobs of workers that are not on the list any more: their attempt counts as crashed. They wait
-- again at once, unless that was the last attempt. Returns how many those were.
CREATE FUNCTION mnemic.rescue_jobs() RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    rescued bigint;
    lost queue.jobs;
    died jsonb;
BEGIN
    PERFORM mnemic.require_working();
    rescued := 0;
    FOR lost IN
        SELECT * FROM queue.jobs
        WHERE jobs.state = 'running'
          AND NOT EXISTS (SELECT FROM mnemic.workers WHERE workers.worker = jobs.worker)
        FOR UPDATE SKIP LOCKED
    LOOP
        died := jsonb_build_object(
            'type', 'WorkerDied', 'message', format('its worker %s died', lost.worker), 'traceback', ''
        );
        IF lost.attempts >= lost.max_attempts OR lost.cancel_requested THEN
            DELETE FROM queue.jobs WHERE jobs.tenant_id = lost.tenant_id AND jobs.job_id = lost.job_id;
            INSERT INTO queue.finished_jobs (
                tenant_id, job_id, owner, type, payload, priority, run_at, key, state, attempts, max_attempts, claims,
                progress, error, outcome, worker, started_at, created_at
            ) VALUES (
                lost.tenant_id, lost.job_id, lost.owner, lost.type, lost.payload, lost.priority, lost.run_at, lost.key,
                CASE WHEN lost.cancel_requested THEN 'cancelled' ELSE 'dead' END, lost.attempts, lost.max_attempts,
                lost.claims, lost.progress, died || jsonb_build_object('message', format(
                    'its worker died in the last of %s attempts; the worker was %s', lost.attempts, lost.worker
                )), 'crashed', lost.worker, lost.started_at, lost.created_at
            );
        ELSE
            INSERT INTO queue.attempts (tenant_id, job_id, claim, owner, outcome, error, worker, started_at)
            VALUES (lost.tenant_id, lost.job_id, lost.claims, lost.owner, 'crashed', died, lost.worker, lost.started_at);
            UPDATE queue.jobs SET state = 'waiting', worker = NULL, started_at = NULL
            WHERE jobs.tenant_id = lost.tenant_id AND jobs.job_id = lost.job_id;
        END IF;
        rescued := rescued + 1;
    END LOOP;
    IF rescued > 0 THEN
        PERFORM mnemic.hint('jobs');
    END IF;
    RETURN rescued;
END
$$;
CALL mnemic.seal('mnemic.rescue_jobs()');

-- Makes dead letters of jobs that have waited for longer than `patience` without any worker knowing their type; at
-- most `most`. Returns how many those were.
CREATE FUNCTION mnemic.bury_unknown_jobs(patience interval, most int) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    known text[] := ARRAY(SELECT DISTINCT unnest(workers.types) FROM mnemic.workers ORDER BY 1);
    buried bigint;
BEGIN
    PERFORM mnemic.require_working();
    WITH unknown AS (
        SELECT jobs.tenant_id, jobs.job_id FROM queue.jobs
        WHERE jobs.state = 'waiting' AND jobs.type <> ALL (known) AND jobs.run_at < clock_timestamp() - patience
        LIMIT most FOR UPDATE SKIP LOCKED
    ),
    gone AS (
        DELETE FROM queue.jobs USING unknown
        WHERE jobs.tenant_id = unknown.tenant_id AND jobs.job_id = unknown.job_id
        RETURNING jobs.*
    )
    INSERT INTO queue.finished_jobs (
        tenant_id, job_id, owner, type, payload, priority, run_at, key, state, attempts, max_attempts, claims,
        progress, error, created_at
    )
    SELECT
        gone.tenant_id, gone.job_id, gone.owner, gone.type, gone.payload, gone.priority, gone.run_at, gone.key, 'dead',
        gone.attempts, gone.max_attempts, gone.claims, gone.progress, jsonb_build_object(
            'type', 'UnknownJobType', 'traceback', '', 'message', format(
                'no worker knew the type %s; the workers know: %s', gone.type,
                coalesce(nullif(array_to_string(known, ', '), ''), 'none')
            )
        ), gone.created_at
    FROM gone;
    GET DIAGNOSTICS buried = ROW_COUNT;
    RETURN buried;
END
$$;
CALL mnemic.seal('mnemic.bury_unknown_jobs(interval, int)');

-- Forgets jobs that ended more than `keep_days` days ago, with their attempts and keys; at most `most`, so that it
-- never takes long. Dead letters go too: nobody replays them after that time. Returns how many jobs went.
CREATE FUNCTION mnemic.prune_jobs(keep_days int, most int) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    pruned bigint;
BEGIN
    PERFORM mnemic.require_working();
    IF keep_days IS NULL OR keep_days < 1 THEN
        RAISE invalid_parameter_value USING MESSAGE = 'finished jobs are kept for at least 1 day';
    END IF;
    WITH old AS (
        SELECT finished_jobs.tenant_id, finished_jobs.job_id FROM queue.finished_jobs
        WHERE finished_jobs.finished_at < clock_timestamp() - make_interval(days => keep_days)
        LIMIT most FOR UPDATE SKIP LOCKED
    ),
    gone AS (
        DELETE FROM queue.finished_jobs USING old
        WHERE finished_jobs.tenant_id = old.tenant_id AND finished_jobs.job_id = old.job_id
        RETURNING finished_jobs.tenant_id, finished_jobs.job_id, finished_jobs.type, finished_jobs.key
    ),
    attempts_gone AS (
        DELETE FROM queue.attempts USING gone
        WHERE attempts.tenant_id = gone.tenant_id AND attempts.job_id = gone.job_id
    ),
    keys_gone AS (
        DELETE FROM queue.job_keys USING gone
        WHERE job_keys.tenant_id = gone.tenant_id AND job_keys.type = gone.type AND job_keys.key = gone.key
          AND job_keys.job_id = gone.job_id
    )
    SELECT count(*) INTO pruned FROM gone;
    RETURN pruned;
END
$$;
CALL mnemic.seal('mnemic.prune_jobs(int, int)');
