-- Raises unless the transaction proves the purpose `working`, which only a worker can sign.
CREATE OR REPLACE FUNCTION mnemic.require_worker_proof() RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF (mnemic.verified_claim('working') = 'queue') IS NOT TRUE THEN
        RAISE insufficient_privilege USING MESSAGE = 'working on jobs needs a proof of working';
    END IF;
END
$$;
GRANT EXECUTE ON FUNCTION mnemic.require_worker_proof() TO mnemic_definer;
