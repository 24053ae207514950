-- The right to set `revoked_at` would also be one to clear it.
CREATE OR REPLACE FUNCTION mnemic.refuse_reviving() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RAISE check_violation USING MESSAGE = 'a revoked grant stays as it is';
END
$$;

CREATE OR REPLACE TRIGGER refuse_reviving BEFORE UPDATE ON state.grants FOR EACH ROW
WHEN (OLD.revoked_at IS NOT NULL)
EXECUTE FUNCTION mnemic.refuse_reviving();
