-- Whether this transaction may tick for all tenants: a worker that proved it, or whoever owns the tables, as
-- pg_cron does when `mnemic.use_pg_cron` has told it to. The latter only inside of run_due_schedules, which sets
-- `mnemic.ticking`: what else an administrator calls stays within the tenant that was proved.
CREATE OR REPLACE FUNCTION mnemic.may_tick() RETURNS boolean
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
RETURN mnemic.verified('working') IS NOT NULL
    OR current_setting('mnemic.ticking', true) = 'on' AND pg_has_role(
        session_user, (SELECT relowner FROM pg_class WHERE oid = 'queue.schedules'::regclass), 'USAGE'
    );
GRANT EXECUTE ON FUNCTION mnemic.may_tick() TO mnemic_definer;
