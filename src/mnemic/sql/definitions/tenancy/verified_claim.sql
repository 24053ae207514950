-- stage: before tables
-- needs: tenancy/run_as_definer, tenancy/transaction_identity
-- The value of the setting `mnemic.<purpose>`, if the proof in `mnemic.<purpose>_proof` is valid for this
-- transaction; else NULL. The key is read by a statement without parameters, whose plan is kept; the rest is
-- evaluated without further statements.
CREATE OR REPLACE FUNCTION mnemic.verified_claim(purpose text) RETURNS text
LANGUAGE plpgsql STABLE STRICT PARALLEL RESTRICTED SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    stated text := current_setting('mnemic.' || purpose, true);
    proof text := current_setting('mnemic.' || purpose || '_proof', true);
    inner_block bytea;
    outer_block bytea;
BEGIN
    SELECT known.inner_block, known.outer_block INTO inner_block, outer_block FROM mnemic.signing_key AS known;
    -- Compare hashes, so that the time of the comparison reveals nothing.
    IF sha256(convert_to(proof, 'UTF8')) = sha256(convert_to(encode(sha256(outer_block || sha256(
        inner_block || convert_to(purpose || E'\n' || stated || E'\n' || mnemic.transaction_identity(), 'UTF8')
    )), 'hex'), 'UTF8')) THEN
        RETURN stated;
    END IF;
    RETURN NULL;
END
$$;
CALL mnemic.run_as_definer('mnemic.verified_claim(text)', 'mnemic_app, mnemic_definer');
