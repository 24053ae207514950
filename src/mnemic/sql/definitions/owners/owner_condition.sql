-- The condition that finds an owner's rows in one of Mnemic's tables (the owner is parameter $1; `child` is the table's
-- alias); NULL if the table holds nothing about owners. A row without an owner column belongs to the owner of the row
-- that it refers to.
CREATE OR REPLACE FUNCTION mnemic.owner_condition(guarded regclass) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT CASE
        WHEN EXISTS (SELECT FROM pg_attribute WHERE attrelid = guarded AND attname = 'owner' AND NOT attisdropped)
        THEN 'owner = $1'
        ELSE (
            SELECT string_agg(
                format(
                    'EXISTS (SELECT FROM %s AS parent WHERE parent.owner = $1 AND (%s))',
                    confrelid::regclass,
                    (
                        SELECT string_agg(format('parent.%I = child.%I', target.attname, source.attname), ' AND ')
                        FROM unnest(conkey, confkey) AS pair (source_number, target_number)
                        JOIN pg_attribute AS source ON source.attrelid = conrelid AND source.attnum = source_number
                        JOIN pg_attribute AS target ON target.attrelid = confrelid AND target.attnum = target_number
                    )
                ),
                ' OR '
            )
            FROM pg_constraint
            JOIN pg_class AS parent_table ON parent_table.oid = confrelid
            JOIN pg_namespace ON pg_namespace.oid = parent_table.relnamespace
            JOIN pg_attribute AS parent_owner
                ON parent_owner.attrelid = confrelid AND parent_owner.attname = 'owner' AND NOT parent_owner.attisdropped
            WHERE contype = 'f' AND conparentid = 0 AND conrelid = guarded
              AND nspname IN ('state', 'vectors', 'traces', 'queue') AND relkind IN ('r', 'p') AND NOT relispartition
        )
    END
    FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
    WHERE pg_class.oid = guarded
      AND nspname IN ('state', 'vectors', 'traces', 'queue') AND relkind IN ('r', 'p') AND NOT relispartition;
END;
GRANT EXECUTE ON FUNCTION mnemic.owner_condition(regclass) TO mnemic_app, mnemic_definer;
