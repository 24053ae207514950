-- How many references an owner's rows have to rows of other owners, by foreign keys. An import that adds one is refused:
-- the rows of its file could otherwise attach themselves to what belongs to somebody else.
CREATE OR REPLACE FUNCTION mnemic.count_foreign_references(referring text) RETURNS bigint
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    total bigint := 0;
    here bigint;
    reference record;
BEGIN
    FOR reference IN
        SELECT
            child.guarded AS child_table,
            child.condition AS child_condition,
            parent.guarded AS parent_table,
            parent.condition AS parent_condition,
            (
                SELECT string_agg(format('child.%I = referring.%I', target.attname, source.attname), ' AND ')
                FROM unnest(conkey, confkey) AS pair (source_number, target_number)
                JOIN pg_attribute AS source ON source.attrelid = conrelid AND source.attnum = source_number
                JOIN pg_attribute AS target ON target.attrelid = confrelid AND target.attnum = target_number
            ) AS same_key,
            (
                SELECT string_agg(format('referring.%I IS NOT NULL', attname), ' AND ')
                FROM pg_attribute WHERE attrelid = conrelid AND attnum = ANY (conkey)
            ) AS has_key
        FROM pg_constraint
        JOIN mnemic.tables_with_owners() AS child ON child.guarded = conrelid
        JOIN mnemic.tables_with_owners() AS parent ON parent.guarded = confrelid
        WHERE contype = 'f' AND conparentid = 0 AND connamespace = 'state'::regnamespace
          -- With the owner in the key, the reference is to a row of the same owner.
          AND NOT EXISTS (
              SELECT FROM pg_attribute WHERE attrelid = conrelid AND attnum = ANY (conkey) AND attname = 'owner'
          )
    LOOP
        EXECUTE format(
            'SELECT count(*)'
            ' FROM (SELECT child.* FROM %1$s AS child WHERE child.tenant_id = $2 AND (%2$s)) AS referring'
            ' WHERE %3$s AND NOT EXISTS (SELECT FROM %4$s AS child WHERE %5$s AND (%6$s))',
            reference.child_table, reference.child_condition, reference.has_key,
            reference.parent_table, reference.same_key, reference.parent_condition
        ) INTO here USING referring, mnemic.current_tenant();
        total := total + here;
    END LOOP;
    RETURN total;
END
$$;
GRANT EXECUTE ON FUNCTION mnemic.count_foreign_references(text) TO mnemic_app, mnemic_definer;
