-- stage: before tables
-- For migrations: give a SECURITY DEFINER function to mnemic_definer, and to `callers` the right
-- to call it.
CREATE OR REPLACE PROCEDURE mnemic.seal(sealed regprocedure, callers text DEFAULT 'mnemic_app')
LANGUAGE plpgsql
AS $$
BEGIN
    EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', sealed);
    EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %s', sealed, callers);
    GRANT CREATE ON SCHEMA mnemic TO mnemic_definer;
    EXECUTE format('ALTER FUNCTION %s OWNER TO mnemic_definer', sealed);
    REVOKE CREATE ON SCHEMA mnemic FROM mnemic_definer;
END
$$;
REVOKE ALL ON PROCEDURE mnemic.seal(regprocedure, text) FROM PUBLIC;
