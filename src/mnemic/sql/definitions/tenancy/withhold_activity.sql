-- needs: tenancy/open_activity_functions
-- Takes from PUBLIC the functions of PostgreSQL that show or end what other sessions do. All tenants share one login,
-- so PostgreSQL itself would show one tenant the statements of another and let it end them. Superusers keep them, roles
-- with pg_monitor or pg_signal_backend, and the migrator, who must find the processes of other versions.
--
-- Only a superuser can do this. For another migrator the call changes nothing, and `mnemic doctor` advises a superuser
-- to call it. A tenant still sees what every query needs: sizes in pg_class, its own transaction, transaction ids.
CREATE OR REPLACE PROCEDURE mnemic.withhold_activity()
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    open regprocedure;
    migrator regrole := (SELECT nspowner FROM pg_namespace WHERE nspname = 'mnemic');
BEGIN
    IF NOT (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN
        RETURN;
    END IF;
    FOR open IN SELECT mnemic.open_activity_functions() LOOP
        EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', open);
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO pg_monitor, pg_signal_backend, %s', open, migrator);
    END LOOP;
END
$$;
REVOKE ALL ON PROCEDURE mnemic.withhold_activity() FROM PUBLIC;
CALL mnemic.withhold_activity();
