-- What Mnemic would sign with its key for a purpose, a subject, and a transaction or backend process. Only for
-- functions that verify a signature.
CREATE OR REPLACE FUNCTION mnemic.signature(purpose text, subject text, place text) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN (
        SELECT encode(sha256(signing_key.outer_block || sha256(
            signing_key.inner_block || convert_to(purpose || E'\n' || subject || E'\n' || place, 'UTF8')
        )), 'hex')
        FROM mnemic.signing_key
    );
END
$$;
REVOKE ALL ON FUNCTION mnemic.signature(text, text, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION mnemic.signature(text, text, text) TO mnemic_definer;
