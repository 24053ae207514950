-- Imported keys are history only: a file must not give access to the tenant that it is imported into. Imports run
-- as mnemic_definer; restoring a backup does not, and keeps keys as they were.
CREATE OR REPLACE FUNCTION mnemic.revoke_imported_key() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    NEW.revoked_at := now();
    RETURN NEW;
END
$$;

CREATE OR REPLACE TRIGGER revoke_imported_key BEFORE INSERT ON state.api_keys FOR EACH ROW
WHEN (NEW.revoked_at IS NULL AND current_user = 'mnemic_definer')
EXECUTE FUNCTION mnemic.revoke_imported_key();
