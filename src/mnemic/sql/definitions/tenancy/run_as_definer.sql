-- stage: before tables
-- For definitions: makes mnemic_definer the owner of a SECURITY DEFINER function and grants its execution to
-- `callers`.
CREATE OR REPLACE PROCEDURE mnemic.run_as_definer(sealed regprocedure, callers text DEFAULT 'mnemic_app')
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
REVOKE ALL ON PROCEDURE mnemic.run_as_definer(regprocedure, text) FROM PUBLIC;
