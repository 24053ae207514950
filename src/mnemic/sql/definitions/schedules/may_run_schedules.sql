-- Whether this transaction may run the schedules of all tenants: a worker that proved it, or the owner of the
-- tables, as pg_cron is after `mnemic.use_pg_cron`. The latter only within run_due_schedules, which sets
-- `mnemic.running_schedules`: everything else that an administrator calls is limited to the proven tenant.
CREATE OR REPLACE FUNCTION mnemic.may_run_schedules() RETURNS boolean
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
RETURN mnemic.verified_claim('working') IS NOT NULL
    OR current_setting('mnemic.running_schedules', true) = 'on' AND pg_has_role(
        session_user, (SELECT relowner FROM pg_class WHERE oid = 'queue.schedules'::regclass), 'USAGE'
    );
GRANT EXECUTE ON FUNCTION mnemic.may_run_schedules() TO mnemic_definer;
