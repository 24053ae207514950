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
GRANT UPDATE (next_run_at, planned_at, last_run_at, last_job_id, enabled, problem) ON queue.schedules TO mnemic_definer;

-- One row if pg_cron was told to tick. Workers then leave ticking to it, unless it is late.
CREATE TABLE mnemic.pg_cron_entry (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    cron_job_id bigint NOT NULL,
    made_at timestamptz NOT NULL DEFAULT now()
);
GRANT SELECT ON mnemic.pg_cron_entry TO mnemic_definer;
