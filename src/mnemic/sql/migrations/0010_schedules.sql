-- Schedules: recurring jobs. `mnemic.run_due_schedules` enqueues the job of a due schedule and moves `next_run_at` on in
-- one transaction, so that each time gives one job however many sessions call it.
--
-- A schedule is *asleep* until `next_run_at`, then *due*; running it makes it asleep again until its first time after now.
-- Of missed times only the last one is run, and no job is added while an earlier one has waited for long because no
-- worker runs. A *paused* schedule (`enabled` is false) waits until somebody resumes it. A schedule that cannot run any more
-- (its time zone is gone, for example) is paused with the reason in `problem`.
--
-- The database's clock counts, and it may jump. Forward: the times in between were missed. Back: `planned_at` then lies in
-- the future; the last time up to now is run, if it was not run before, and the schedule is planned again from there. The
-- key of the job contains the time, so that a time that is passed twice gives no second job.

CREATE TABLE queue.schedules (
    tenant_id uuid NOT NULL REFERENCES state.tenants,
    name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 128),
    -- The owner that the payload is about, if any: the schedule is erased with it.
    owner text CHECK (char_length(owner) BETWEEN 1 AND 256),
    job_type text NOT NULL CHECK (char_length(job_type) BETWEEN 1 AND 128),
    payload jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(payload) = 'object'),
    priority smallint NOT NULL DEFAULT 0,
    -- Either an interval, or a cron expression and the numbers that it stands for.
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

-- One row if pg_cron runs the schedules (mnemic.use_pg_cron). Workers then leave them to it, unless it is late.
CREATE TABLE mnemic.pg_cron_entry (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    cron_job_id bigint NOT NULL,
    made_at timestamptz NOT NULL DEFAULT now()
);
GRANT SELECT ON mnemic.pg_cron_entry TO mnemic_definer;
