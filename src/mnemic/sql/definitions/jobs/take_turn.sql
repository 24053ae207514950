-- @@0012
-- One turn of a worker: settles what has ended, claims what comes next. A busy worker does nothing else, so this is
-- one statement without a transaction around it, and one round trip. Instead of proving `working` for a transaction,
-- it carries a signature for the server process that runs it. That is a parameter: it stays nowhere, so that SQL which
-- runs in the same process later cannot find it.
-- @@0020
-- A turn, as in migration 0012, without the proof that its statements needed.
CREATE OR REPLACE FUNCTION mnemic.take_turn(
    holder text, outcomes jsonb, known_types text[], slots int, after_tenant uuid, only_tenant uuid, signed text
) RETURNS TABLE (
    tenant_id uuid, job_id uuid, owner text, type text, payload jsonb, attempt smallint, claim int, progress jsonb
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    -- Hashed before they are compared, so that the time it takes tells nothing.
    IF (sha256(convert_to(signed, 'UTF8'))
        = sha256(convert_to(mnemic.signature('turn', 'queue', mnemic.process()), 'UTF8'))) IS NOT TRUE THEN
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
CALL mnemic.seal('mnemic.take_turn(text, jsonb, text[], int, uuid, uuid, text)');
