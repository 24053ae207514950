-- Keeps a revoked key revoked: the column privilege that allows setting `revoked_at` would also allow clearing it.
CREATE OR REPLACE FUNCTION mnemic.refuse_reactivating_key() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RAISE check_violation USING MESSAGE = 'a revoked key stays revoked';
END
$$;

CREATE OR REPLACE TRIGGER refuse_reactivating_key BEFORE UPDATE ON state.api_keys FOR EACH ROW
WHEN (OLD.revoked_at IS NOT NULL AND NEW.revoked_at IS DISTINCT FROM OLD.revoked_at)
EXECUTE FUNCTION mnemic.refuse_reactivating_key();
