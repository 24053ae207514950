-- stage: before tables
-- For migrations, ours and those of extensions: puts a table under row-level security for tenants. The table needs
-- a column `tenant_id uuid NOT NULL` and keys that start with it.
--
-- Nearly all of its columns are without statistics, see mnemic.withhold_statistics. If the planner needs those of a
-- column whose values are no secret, add: ALTER TABLE … ALTER COLUMN … SET STATISTICS 100.
CREATE OR REPLACE PROCEDURE mnemic.protect(guarded regclass, privileges text DEFAULT 'SELECT, INSERT, UPDATE, DELETE')
LANGUAGE plpgsql
AS $$
BEGIN
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', guarded);
    -- The scalar sub-select makes PostgreSQL verify once per statement, not once per row. A policy for
    -- everybody, not for mnemic_app: members of that role could drop its policies by DROP OWNED.
    EXECUTE format(
        'CREATE POLICY same_tenant ON %s'
        ' USING (tenant_id = (SELECT mnemic.current_tenant()))'
        ' WITH CHECK (tenant_id = (SELECT mnemic.current_tenant()))',
        guarded
    );
    EXECUTE format('GRANT %s ON %s TO mnemic_app', privileges, guarded);
    -- Erasure must reach everything, including rows that the application itself may not delete.
    EXECUTE format('GRANT SELECT, INSERT, DELETE ON %s TO mnemic_definer', guarded);
    CALL mnemic.withhold_statistics(guarded);
END
$$;
REVOKE ALL ON PROCEDURE mnemic.protect(regclass, text) FROM PUBLIC;
GRANT EXECUTE ON PROCEDURE mnemic.protect(regclass, text) TO mnemic_definer;
