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
CREATE OR REPLACE FUNCTION mnemic.hint(channel text) RETURNS void
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
