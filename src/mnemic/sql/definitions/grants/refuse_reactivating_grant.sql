-- Keeps a revoked grant revoked: the column privilege that allows setting `revoked_at` would also allow clearing
-- it.
CREATE OR REPLACE FUNCTION mnemic.refuse_reactivating_grant() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RAISE check_violation USING MESSAGE = 'a revoked grant stays as it is';
END
$$;

CREATE OR REPLACE TRIGGER refuse_reactivating_grant BEFORE UPDATE ON state.grants FOR EACH ROW
WHEN (OLD.revoked_at IS NOT NULL)
EXECUTE FUNCTION mnemic.refuse_reactivating_grant();
