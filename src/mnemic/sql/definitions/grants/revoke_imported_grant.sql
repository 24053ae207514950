-- Imported grants are history only. The receiver's name may belong to somebody else in this tenant, and the grant
-- may have been revoked since the export: the owner must grant again. Imports run as mnemic_definer; restoring a
-- backup does not, and keeps grants as they were.
CREATE OR REPLACE FUNCTION mnemic.revoke_imported_grant() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    NEW.revoked_at := now();
    NEW.revoking_reason := 'imported';
    RETURN NEW;
END
$$;

CREATE OR REPLACE TRIGGER revoke_imported_grant BEFORE INSERT ON state.grants FOR EACH ROW
WHEN (NEW.revoked_at IS NULL AND NEW.dropped_at IS NULL AND current_user = 'mnemic_definer')
EXECUTE FUNCTION mnemic.revoke_imported_grant();
