-- stage: before tables
-- needs: tenancy/seal, tenancy/moment
-- @@0001
-- What this transaction states in `mnemic.<purpose>`, or NULL when it states nothing or the proof
-- does not hold. The hashes are hashed once more before they are compared, so that the time it takes
-- tells nothing.
-- @@0026
-- Verifying and entering, as in migrations 0001 and 0011. The key is read by a statement without parameters, whose plan is
-- kept, and entering reads it once; what is assigned or compared is evaluated without a statement of its own.
CREATE OR REPLACE FUNCTION mnemic.verified(purpose text) RETURNS text
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
    -- Hashed once more before they are compared, so that the time it takes tells nothing.
    IF sha256(convert_to(proof, 'UTF8')) = sha256(convert_to(encode(sha256(outer_block || sha256(
        inner_block || convert_to(purpose || E'\n' || stated || E'\n' || mnemic.moment(), 'UTF8')
    )), 'hex'), 'UTF8')) THEN
        RETURN stated;
    END IF;
    RETURN NULL;
END
$$;
CALL mnemic.seal('mnemic.verified(text)', 'mnemic_app, mnemic_definer');
