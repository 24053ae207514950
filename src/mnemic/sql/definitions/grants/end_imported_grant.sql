-- An import brings grants as history only. Whoever has the name of the reader in this tenant may be
-- somebody else, or the grant may have been revoked since the export: the giver grants anew. Imports are
-- what runs as mnemic_definer; restoring a backup does not, and keeps grants as they were.
CREATE OR REPLACE FUNCTION mnemic.end_imported_grant() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    NEW.revoked_at := now();
    NEW.revoking_reason := 'imported';
    RETURN NEW;
END
$$;

CREATE OR REPLACE TRIGGER end_imported_grant BEFORE INSERT ON state.grants FOR EACH ROW
WHEN (NEW.revoked_at IS NULL AND current_user = 'mnemic_definer')
EXECUTE FUNCTION mnemic.end_imported_grant();
