-- Whether this transaction may tick for all tenants: a worker that proved it, or whoever owns the tables, as
-- pg_cron does when `mnemic.use_pg_cron` has told it to. The latter only inside of run_due_schedules, which sets
-- `mnemic.running_schedules`: what else an administrator calls stays within the tenant that was proved.
CREATE OR REPLACE FUNCTION mnemic.may_run_schedules() RETURNS boolean
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
RETURN mnemic.verified_claim('working') IS NOT NULL
    OR current_setting('mnemic.running_schedules', true) = 'on' AND pg_has_role(
        session_user, (SELECT relowner FROM pg_class WHERE oid = 'queue.schedules'::regclass), 'USAGE'
    );
GRANT EXECUTE ON FUNCTION mnemic.may_run_schedules() TO mnemic_definer;
