-- Creates or renews the application's login, if the migrator may create roles. `verifier` is the SCRAM form of the
-- password, so that the password itself never reaches the server's log.
CREATE OR REPLACE PROCEDURE mnemic.make_login(login text, verifier text)
LANGUAGE plpgsql
AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = login) THEN
        EXECUTE format('CREATE ROLE %I LOGIN PASSWORD %L', login, verifier);
    ELSE
        EXECUTE format('ALTER ROLE %I LOGIN PASSWORD %L', login, verifier);
    END IF;
    EXECUTE format('GRANT mnemic_app TO %I', login);
EXCEPTION
    -- Another database of this server was migrated at the same time and has created it.
    WHEN duplicate_object OR unique_violation THEN RETURN;
END
$$;
REVOKE ALL ON PROCEDURE mnemic.make_login(text, text) FROM PUBLIC;
