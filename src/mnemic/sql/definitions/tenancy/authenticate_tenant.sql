-- The first call of a statement that is a transaction by itself: it sets and proves the tenant for which it is
-- signed, as a separate round trip does in other transactions. Without a signature it does nothing, so that one
-- query serves both.
CREATE OR REPLACE FUNCTION mnemic.authenticate_tenant(tenant uuid, signed text) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    inner_block bytea;
    outer_block bytea;
    stated text;
BEGIN
    IF signed IS NOT NULL THEN
        SELECT known.inner_block, known.outer_block INTO inner_block, outer_block FROM mnemic.signing_key AS known;
        -- Compare hashes, so that the time of the comparison reveals nothing.
        IF (sha256(convert_to(signed, 'UTF8')) = sha256(convert_to(encode(sha256(outer_block || sha256(
            inner_block || convert_to('authenticate' || E'\n' || tenant || E'\n' || mnemic.backend_identity(), 'UTF8')
        )), 'hex'), 'UTF8'))) IS NOT TRUE THEN
            RAISE insufficient_privilege USING MESSAGE = 'the signature does not hold for this tenant';
        END IF;
        stated := set_config('mnemic.tenant', tenant::text, true);
        stated := set_config('mnemic.tenant_proof', encode(sha256(outer_block || sha256(
            inner_block || convert_to('tenant' || E'\n' || tenant || E'\n' || mnemic.transaction_identity(), 'UTF8')
        )), 'hex'), true);
    END IF;
    RETURN tenant;
END
$$;
CALL mnemic.run_as_definer('mnemic.authenticate_tenant(uuid, text)');
