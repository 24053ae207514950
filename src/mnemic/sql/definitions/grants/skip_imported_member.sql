-- An import adds nobody to a group: a file must give no access that no administrator of this tenant gave. Imports run
-- as mnemic_definer; restoring a backup does not, and keeps members as they were.
CREATE OR REPLACE FUNCTION mnemic.skip_imported_member() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER skip_imported_member BEFORE INSERT ON state.group_members FOR EACH ROW
WHEN (current_user = 'mnemic_definer')
EXECUTE FUNCTION mnemic.skip_imported_member();
