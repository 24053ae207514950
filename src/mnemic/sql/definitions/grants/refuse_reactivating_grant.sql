-- Keeps a revoked or dropped grant as it is, and an accepted one accepted: the column privileges that allow setting
-- these times would also allow clearing them.
CREATE OR REPLACE FUNCTION mnemic.refuse_reactivating_grant() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RAISE check_violation USING MESSAGE = 'a revoked grant stays as it is, and so does a dropped or accepted one';
END
$$;

CREATE OR REPLACE TRIGGER refuse_reactivating_grant BEFORE UPDATE ON state.grants FOR EACH ROW
WHEN (
    OLD.revoked_at IS NOT NULL OR OLD.dropped_at IS NOT NULL
    OR OLD.accepted_at IS NOT NULL AND NEW.accepted_at IS DISTINCT FROM OLD.accepted_at
)
EXECUTE FUNCTION mnemic.refuse_reactivating_grant();
