-- needs: owners/owner_condition
-- Tables that hold rows of owners, with the condition that finds an owner's rows (the owner is parameter $1). They
-- are found in the catalog, so that a table of a later migration or an extension needs no entry here: every table
-- with a column `owner`, and every table with a foreign key to one. `depth` orders them: a table comes after those
-- that it refers to.
CREATE OR REPLACE FUNCTION mnemic.tables_with_owners()
RETURNS TABLE (guarded regclass, condition text, depth int)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    WITH RECURSIVE ours AS (
        SELECT pg_class.oid
        FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
        WHERE nspname IN ('state', 'vectors', 'traces', 'queue') AND relkind IN ('r', 'p') AND NOT relispartition
    ),
    owned AS (
        SELECT known.oid, known.condition
        FROM (SELECT ours.oid, mnemic.owner_condition(ours.oid) AS condition FROM ours) AS known
        WHERE known.condition IS NOT NULL
    ),
    levels AS (
        SELECT owned.oid, 0 AS depth FROM owned
        UNION
        SELECT conrelid, levels.depth + 1
        FROM levels JOIN pg_constraint ON contype = 'f' AND confrelid = levels.oid AND conrelid <> confrelid
        WHERE conrelid IN (SELECT owned.oid FROM owned)
    )
    SELECT owned.oid::regclass, owned.condition, max(levels.depth)
    FROM owned JOIN levels ON levels.oid = owned.oid
    GROUP BY owned.oid, owned.condition;
END;
GRANT EXECUTE ON FUNCTION mnemic.tables_with_owners() TO mnemic_app, mnemic_definer;
