-- Schedules: a job, again and again. One row says what and when; whoever looks first after `next_run_at`
-- enqueues the job and moves the row on, in one transaction, so that a tick comes once however many look.
--
-- A schedule is *asleep* until `next_run_at`, then *due*; ticking makes it asleep again until the first tick
-- after now: of ticks that were missed only the last one comes, and while the job of an earlier one has waited for
-- long, since nobody works, no more are added to it. A *paused* one (`enabled` is false) waits for
-- somebody to resume it. One that cannot tick any more (its time zone is gone, for example) is paused with
-- the reason in `problem`.
--
-- The clock is the database's, and it may jump. Forward: the ticks in between were missed. Back: `planned_at`
-- then lies in the future; the last tick up to the moment that it is now comes, if it has not come before, and the
-- schedule is planned anew from there. The key of a tick's job is the moment of the tick, so that a tick that
-- comes near for the second time gives no second job.

CREATE TABLE queue.schedules (
    tenant_id uuid NOT NULL REFERENCES state.tenants,
    name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 128),
    -- Whom the payload is about, if anybody: it is erased with them.
    owner text CHECK (char_length(owner) BETWEEN 1 AND 256),
    job_type text NOT NULL CHECK (char_length(job_type) BETWEEN 1 AND 128),
    payload jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(payload) = 'object'),
    priority smallint NOT NULL DEFAULT 0,
    -- Either every so many seconds, or by a cron expression and the numbers that it stands for.
    every_s int CHECK (every_s BETWEEN 1 AND 31622400),
    cron text CHECK (char_length(cron) <= 256),
    minutes smallint[],
    hours smallint[],
    days smallint[],
    months smallint[],
    weekdays smallint[],
    either_day boolean,
    timezone text NOT NULL DEFAULT 'UTC' CHECK (char_length(timezone) <= 64),
    enabled boolean NOT NULL DEFAULT true,
    problem text CHECK (char_length(problem) <= 1024),
    next_run_at timestamptz NOT NULL,
    planned_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    last_run_at timestamptz,
    last_job_id uuid,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, name),
    CONSTRAINT by_cron_or_interval CHECK (
        num_nonnulls(every_s, cron) = 1
        AND num_nonnulls(minutes, hours, days, months, weekdays, either_day) = CASE WHEN cron IS NULL THEN 0 ELSE 6 END
    )
);
COMMENT ON TABLE queue.schedules IS 'Jobs that come again and again, and when.';
CALL mnemic.protect('queue.schedules');
-- Where a tenant sets one, the worker inside its own process, if there is one, begins to tick.
CREATE TRIGGER hint_jobs AFTER INSERT OR UPDATE ON queue.schedules FOR EACH ROW
WHEN (current_user <> 'mnemic_definer')
EXECUTE FUNCTION mnemic.hint_jobs();

-- The ticks of a cron expression on one day of a time zone, in no order: at least the one nearest to a moment on the
-- side that is looked at, before it (`backward`) or after it.
--
-- Where the zone's clock is put forward, what falls into the hole comes as soon as the hole is over; where it is put
-- back, an hour that happens twice ticks the second time only. But an expression that names no hours ticks in
-- every hour that passes, also in both of those: it is asked minute by minute, for the three hours that are nearest.
CREATE FUNCTION mnemic.ticks_on(
    day date, minutes smallint[], hours smallint[], zone text, moment timestamptz, backward boolean
) RETURNS SETOF timestamptz
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT (day + make_time(hour, minute, 0)) AT TIME ZONE zone
    FROM unnest(hours) AS hour, unnest(minutes) AS minute
    WHERE cardinality(hours) < 24
    UNION ALL
    SELECT candidate
    FROM (
        SELECT date_trunc('minute', CASE WHEN backward
            THEN least(moment, (day + 1)::timestamp AT TIME ZONE zone) - interval '3 hours'
            ELSE greatest(moment, day::timestamp AT TIME ZONE zone)
        END) AS first
    ) AS nearest, generate_series(first, first + interval '181 minutes', interval '1 minute') AS candidate
    WHERE cardinality(hours) = 24 AND (candidate AT TIME ZONE zone)::date = day
      AND extract(minute FROM candidate AT TIME ZONE zone) = ANY (minutes);
END;

-- The first tick of a cron expression after a moment; `backward`, the last one up to it. NULL if there is none for
-- years.
CREATE FUNCTION mnemic.cron_tick(
    minutes smallint[], hours smallint[], days smallint[], months smallint[], weekdays smallint[],
    either_day boolean, zone text, moment timestamptz, backward boolean DEFAULT false
) RETURNS timestamptz
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    -- Between two 29ths of February there may be eight years, as around 2100.
    farthest_days CONSTANT int := 8 * 366;
    today date := (moment AT TIME ZONE zone)::date;
    day date;
    found timestamptz;
BEGIN
    -- From a day too near on: a clock that is put back at midnight shows the day before once more.
    FOR distance IN -1 .. farthest_days LOOP
        day := today + CASE WHEN backward THEN -distance ELSE distance END;
        CONTINUE WHEN extract(month FROM day) <> ALL (months);
        CONTINUE WHEN CASE WHEN either_day
            THEN extract(day FROM day) <> ALL (days) AND extract(dow FROM day) <> ALL (weekdays)
            ELSE extract(day FROM day) <> ALL (days) OR extract(dow FROM day) <> ALL (weekdays)
        END;
        SELECT CASE WHEN backward THEN max(tick) ELSE min(tick) END INTO found
        FROM mnemic.ticks_on(day, minutes, hours, zone, moment, backward) AS tick
        WHERE (tick <= moment) = backward;
        EXIT WHEN found IS NOT NULL;
    END LOOP;
    RETURN found;
END
$$;

-- The same for a schedule. An interval keeps to its grid, forward and back: its ticks lie whole intervals away from
-- the next one.
CREATE FUNCTION mnemic.schedule_tick(planned queue.schedules, moment timestamptz, backward boolean DEFAULT false)
RETURNS timestamptz
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
RETURN CASE WHEN planned.every_s IS NULL
    THEN mnemic.cron_tick(
        planned.minutes, planned.hours, planned.days, planned.months, planned.weekdays, planned.either_day,
        planned.timezone, moment, backward
    )
    ELSE planned.next_run_at + make_interval(secs => planned.every_s * (
        floor(extract(epoch FROM moment - planned.next_run_at) / planned.every_s) + CASE WHEN backward THEN 0 ELSE 1 END
    ))
END;
GRANT EXECUTE ON FUNCTION
    mnemic.ticks_on(date, smallint[], smallint[], text, timestamptz, boolean),
    mnemic.cron_tick(smallint[], smallint[], smallint[], smallint[], smallint[], boolean, text, timestamptz, boolean),
    mnemic.schedule_tick(queue.schedules, timestamptz, boolean)
TO mnemic_app, mnemic_definer;

-- Whether this transaction may tick for all tenants: a worker that proved it, or whoever owns the tables, as
-- pg_cron does when `mnemic.use_pg_cron` has told it to. The latter only inside of run_due_schedules, which sets
-- `mnemic.ticking`: what else an administrator calls stays within the tenant that was proved.
CREATE FUNCTION mnemic.may_tick() RETURNS boolean
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
RETURN mnemic.verified('working') IS NOT NULL
    OR current_setting('mnemic.ticking', true) = 'on' AND pg_has_role(
        session_user, (SELECT relowner FROM pg_class WHERE oid = 'queue.schedules'::regclass), 'USAGE'
    );
GRANT EXECUTE ON FUNCTION mnemic.may_tick() TO mnemic_definer;

CREATE POLICY ticking ON queue.schedules TO mnemic_definer USING ((SELECT mnemic.may_tick()));
GRANT UPDATE (next_run_at, planned_at, last_run_at, last_job_id, enabled, problem) ON queue.schedules TO mnemic_definer;

-- One row if pg_cron was told to tick. Workers then leave ticking to it, unless it is late.
CREATE TABLE mnemic.pg_cron_entry (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    cron_job_id bigint NOT NULL,
    made_at timestamptz NOT NULL DEFAULT now()
);
GRANT SELECT ON mnemic.pg_cron_entry TO mnemic_definer;

-- What a tick does in the queue, for a transaction that may tick without having proved that it is a worker.
CREATE POLICY ticking ON queue.jobs TO mnemic_definer USING ((SELECT mnemic.may_tick()));
CREATE POLICY ticking ON queue.job_keys TO mnemic_definer USING ((SELECT mnemic.may_tick()));

-- Adds the job of a tick and returns its id; NULL if it was added before. Only for run_due_schedules.
CREATE FUNCTION mnemic.add_tick(planned queue.schedules, tick timestamptz) RETURNS uuid
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    tick_key text := format(
        'schedule %s %s', planned.name, to_char(tick AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    );
    added uuid := mnemic.new_id();
BEGIN
    INSERT INTO queue.job_keys (tenant_id, type, key, job_id, owner)
    VALUES (planned.tenant_id, planned.job_type, tick_key, added, planned.owner)
    ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    INSERT INTO queue.jobs (tenant_id, job_id, owner, type, payload, priority, key)
    VALUES (
        planned.tenant_id, added, planned.owner, planned.job_type, planned.payload, planned.priority, tick_key
    );
    RETURN added;
END
$$;
REVOKE ALL ON FUNCTION mnemic.add_tick(queue.schedules, timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION mnemic.add_tick(queue.schedules, timestamptz) TO mnemic_definer;

-- Enqueues the jobs of all schedules that are due, of all tenants, at most `most`; returns how many there were.
-- Any number may call it at once: a row that somebody else holds is being ticked by them.
CREATE FUNCTION mnemic.run_due_schedules(moment timestamptz DEFAULT clock_timestamp(), most int DEFAULT 1000) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    -- How late pg_cron, which ticks every minute at least, has to be for a worker to step in.
    patience_with_pg_cron CONSTANT interval := '90 seconds';
    -- How long a job waits before it is taken for one that nobody works on.
    long_wait CONSTANT interval := '1 hour';
    -- Two who tick at once may have looked at the clock in another order than they hold the row.
    tolerated_step_back CONSTANT interval := '1 second';
    patience interval := '0';
    due queue.schedules;
    tick timestamptz;
    added uuid;
    ticked int := 0;
BEGIN
    PERFORM set_config('mnemic.ticking', 'on', true);
    IF mnemic.may_tick() IS NOT TRUE THEN
        RAISE insufficient_privilege USING MESSAGE = 'ticking needs a proof of working';
    END IF;
    IF mnemic.verified('working') IS NOT NULL AND EXISTS (SELECT FROM mnemic.pg_cron_entry) THEN
        patience := patience_with_pg_cron;
    END IF;
    FOR due IN
        SELECT * FROM queue.schedules
        WHERE enabled AND (next_run_at <= moment - patience OR planned_at > moment + tolerated_step_back)
        ORDER BY next_run_at
        LIMIT most
        FOR UPDATE SKIP LOCKED
    LOOP
        BEGIN
            added := NULL;
            tick := mnemic.schedule_tick(due, moment, backward => true);
            -- If only the clock went back, a tick from before the schedule was made or changed is none of its own.
            IF (due.next_run_at <= moment OR tick >= due.updated_at) AND NOT EXISTS (
                SELECT FROM queue.jobs
                WHERE tenant_id = due.tenant_id AND job_id = due.last_job_id AND state = 'waiting'
                  AND run_at < clock_timestamp() - long_wait
            ) THEN
                added := mnemic.add_tick(due, coalesce(tick, due.next_run_at));
            END IF;
            IF added IS NOT NULL THEN
                due.last_job_id := added;
                due.last_run_at := moment;
                ticked := ticked + 1;
            END IF;
            UPDATE queue.schedules
            SET next_run_at = mnemic.schedule_tick(due, moment), planned_at = moment, last_run_at = due.last_run_at,
                last_job_id = due.last_job_id
            WHERE tenant_id = due.tenant_id AND name = due.name;
        EXCEPTION WHEN data_exception OR integrity_constraint_violation THEN
            -- It can never tick again as it is, and must not keep the others from it.
            UPDATE queue.schedules SET enabled = false, problem = left(SQLERRM, 1024)
            WHERE tenant_id = due.tenant_id AND name = due.name;
        END;
    END LOOP;
    PERFORM set_config('mnemic.ticking', '', true);
    RETURN ticked;
END
$$;
CALL mnemic.seal('mnemic.run_due_schedules(timestamptz, int)');

-- Has pg_cron tick: one entry for all tenants. For an administrator, in a database where pg_cron is installed;
-- doing it twice changes nothing. Returns the number that the entry has with pg_cron.
CREATE FUNCTION mnemic.use_pg_cron() RETURNS bigint
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    told bigint;
    -- Versions from 1.5 on count in seconds, too.
    counts_seconds boolean := coalesce(
        (SELECT string_to_array(extversion, '.')::int[] >= ARRAY[1, 5] FROM pg_extension WHERE extname = 'pg_cron'), false
    );
BEGIN
    IF to_regproc('cron.schedule') IS NULL THEN
        RAISE undefined_object USING MESSAGE = 'pg_cron is not installed in this database';
    END IF;
    told := cron.schedule(
        'mnemic schedules',
        CASE WHEN counts_seconds THEN '10 seconds' ELSE '* * * * *' END,
        'SELECT mnemic.run_due_schedules()'
    );
    INSERT INTO mnemic.pg_cron_entry (cron_job_id) VALUES (told)
    ON CONFLICT (only_row) DO UPDATE SET cron_job_id = excluded.cron_job_id, made_at = now();
    RETURN told;
END
$$;

-- Leaves ticking to the workers again; returns whether pg_cron had been told.
CREATE FUNCTION mnemic.leave_pg_cron() RETURNS boolean
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    told bigint;
BEGIN
    DELETE FROM mnemic.pg_cron_entry RETURNING cron_job_id INTO told;
    IF told IS NULL THEN
        RETURN false;
    END IF;
    IF to_regproc('cron.unschedule') IS NOT NULL THEN
        PERFORM cron.unschedule(told);
    END IF;
    RETURN true;
END
$$;
REVOKE ALL ON FUNCTION mnemic.use_pg_cron(), mnemic.leave_pg_cron() FROM PUBLIC;

-- Drops the days of the memory log that are too old, for all tenants; returns how many. For a worker.
CREATE FUNCTION mnemic.drop_old_logs(keep_days int) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM mnemic.require_working();
    RETURN (SELECT count(*) FROM mnemic.drop_log_partitions(keep_days));
END
$$;
CALL mnemic.seal('mnemic.drop_old_logs(int)');

-- Pruning holds the finished jobs that it forgets, so that two who prune do not wait for each other.
GRANT UPDATE ON queue.finished_jobs TO mnemic_definer;

-- What the daily clean-up looks for, a few memories among many.
CREATE INDEX memories_expiring ON state.memories (tenant_id, expires_at)
WHERE expires_at IS NOT NULL AND status IN ('active', 'pending_review') AND deleted_at IS NULL;
CREATE INDEX memories_faint ON state.memories (tenant_id, memory_id)
WHERE salience < 0.1 AND NOT anchored AND status = 'active' AND deleted_at IS NULL;

-- Every tenant is born with these, each once a day at a time of its own, so that many tenants do not all come
-- at once. From then on they are the tenant's: it may change, pause or delete them.
CREATE FUNCTION mnemic.first_schedules(born uuid)
RETURNS TABLE (name text, job_type text, every_s int, next_run_at timestamptz)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT
        first.name, first.job_type, 86400,
        now() + make_interval(secs => 3600 + abs(hashtextextended(first.name || born, 0) % 82800))
    FROM (VALUES
        ('cleanup', 'maintenance.cleanup'),
        ('embedding backlog', 'embeddings.backlog'),
        ('log days', 'maintenance.log_days'),
        ('pruning', 'maintenance.prune'),
        ('snapshots', 'maintenance.snapshots')
    ) AS first (name, job_type);
END;
GRANT EXECUTE ON FUNCTION mnemic.first_schedules(uuid) TO mnemic_definer;

CREATE FUNCTION mnemic.give_first_schedules() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    INSERT INTO queue.schedules (tenant_id, name, job_type, every_s, next_run_at)
    SELECT NEW.tenant_id, first.* FROM mnemic.first_schedules(NEW.tenant_id) AS first;
    RETURN NULL;
END
$$;
CALL mnemic.seal('mnemic.give_first_schedules()', 'mnemic_definer');
CREATE POLICY given_at_birth ON queue.schedules FOR INSERT TO mnemic_definer WITH CHECK (true);
CREATE TRIGGER give_first_schedules AFTER INSERT ON state.tenants FOR EACH ROW
EXECUTE FUNCTION mnemic.give_first_schedules();

-- Those that are there already. The migrator owns the tables, but their policies hold for owners, too.
ALTER TABLE state.tenants NO FORCE ROW LEVEL SECURITY;
ALTER TABLE queue.schedules NO FORCE ROW LEVEL SECURITY;
INSERT INTO queue.schedules (tenant_id, name, job_type, every_s, next_run_at)
SELECT tenants.tenant_id, first.* FROM state.tenants, mnemic.first_schedules(tenants.tenant_id) AS first;
ALTER TABLE state.tenants FORCE ROW LEVEL SECURITY;
ALTER TABLE queue.schedules FORCE ROW LEVEL SECURITY;
