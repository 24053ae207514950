-- stage: before tables
-- For migrations, ours and those of extensions: puts a table under row-level security for tenants. The table needs
-- a column `tenant_id uuid NOT NULL` and keys that start with it.
--
-- The planner's statistics hold values of all tenants, and the estimates that EXPLAIN shows reveal them, one
-- comparison after the other. So a protected column has no statistics unless it is an id, a time, a flag, a plain
-- number or a word from a fixed list (CHECK … IN …). If the planner needs more and the values are no secret, add:
-- ALTER TABLE … ALTER COLUMN … SET STATISTICS -1.
CREATE OR REPLACE PROCEDURE mnemic.protect(guarded regclass, privileges text DEFAULT 'SELECT, INSERT, UPDATE, DELETE')
LANGUAGE plpgsql
AS $$
DECLARE
    secret name;
BEGIN
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', guarded);
    EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', guarded);
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
    FOR secret IN
        SELECT attname FROM pg_catalog.pg_attribute
        WHERE attrelid = guarded AND attnum > 0 AND NOT attisdropped
          AND atttypid <> ALL (
              ARRAY['uuid', 'bool', 'timestamptz', 'date', 'int2', 'int4', 'int8', 'float4', 'float8']::regtype[]
          )
          AND NOT EXISTS (
              SELECT FROM pg_catalog.pg_constraint
              WHERE conrelid = guarded AND contype = 'c' AND conkey = ARRAY[attnum]
                AND pg_catalog.pg_get_constraintdef(pg_constraint.oid) LIKE 'CHECK ((% = ANY (ARRAY[%'
          )
    LOOP
        EXECUTE format('ALTER TABLE %s ALTER COLUMN %I SET STATISTICS 0', guarded, secret);
    END LOOP;
END
$$;
REVOKE ALL ON PROCEDURE mnemic.protect(regclass, text) FROM PUBLIC;
GRANT EXECUTE ON PROCEDURE mnemic.protect(regclass, text) TO mnemic_definer;
