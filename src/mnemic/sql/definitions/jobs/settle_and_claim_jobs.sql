-- One cycle of a worker: settles ended jobs and claims the next ones. A busy worker calls nothing else, so this is
-- one statement and one round trip without a surrounding transaction. Instead of a proof of `working` for a
-- transaction it carries a signature for the backend process that runs it. The signature is a parameter, so SQL
-- that runs later in the same process cannot find it.
CREATE OR REPLACE FUNCTION mnemic.settle_and_claim_jobs(
    holder text, outcomes jsonb, known_types text[], slots int, after_tenant uuid, only_tenant uuid, signed text
) RETURNS TABLE (
    tenant_id uuid, job_id uuid, owner text, type text, payload jsonb, attempt smallint, claim int, progress jsonb
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    -- Compare hashes, so that the time of the comparison reveals nothing.
    IF (sha256(convert_to(signed, 'UTF8'))
        = sha256(convert_to(mnemic.signature('claim jobs', 'queue', mnemic.backend_identity()), 'UTF8'))) IS NOT TRUE THEN
        RAISE insufficient_privilege USING MESSAGE = 'working on jobs needs a proof of working';
    END IF;
    IF outcomes <> '[]' THEN
        PERFORM mnemic.settle_jobs(holder, outcomes);
    END IF;
    IF slots > 0 THEN
        RETURN QUERY SELECT * FROM mnemic.claim_jobs(holder, known_types, slots, after_tenant, only_tenant);
    END IF;
END
$$;
CALL mnemic.run_as_definer('mnemic.settle_and_claim_jobs(text, jsonb, text[], int, uuid, uuid, text)');
