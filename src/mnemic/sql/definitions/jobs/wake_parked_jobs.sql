-- Lets the jobs of the verified tenant that a spend cap has parked run now; returns how many. Those for which the cap is
-- still too low are parked again.
CREATE OR REPLACE FUNCTION mnemic.wake_parked_jobs() RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    verified_tenant CONSTANT uuid := mnemic.current_tenant();
    woken bigint;
BEGIN
    UPDATE queue.jobs SET run_at = clock_timestamp()
    WHERE jobs.tenant_id = verified_tenant AND jobs.state = 'scheduled' AND jobs.run_at > clock_timestamp()
      AND EXISTS (
          SELECT FROM queue.attempts
          WHERE attempts.tenant_id = verified_tenant AND attempts.job_id = jobs.job_id AND attempts.claim = jobs.claims
            AND attempts.outcome = 'handed_back' AND attempts.error ->> 'type' = 'SpendCapError'
      );
    GET DIAGNOSTICS woken = ROW_COUNT;
    RETURN woken;
END
$$;
CALL mnemic.run_as_definer('mnemic.wake_parked_jobs()');
