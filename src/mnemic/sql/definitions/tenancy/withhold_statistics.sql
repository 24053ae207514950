-- stage: before tables
-- Takes the planner's statistics away from the columns of a table and the expressions in its indexes, and removes
-- those that exist. They hold values of all tenants, and the estimates that EXPLAIN shows reveal them, one comparison
-- after the other: words, amounts, times, flags, how often a kind of row occurs.
--
-- Two kinds of columns keep statistics, because plans depend on them:
--   tenant_id      Otherwise the planner takes every tenant for a 200th of a table, and then every index looks as good
--                  as every other. Reveals ids of the largest tenants and their shares of the rows.
--   ids, NOT NULL  Otherwise it expects a 200th of a table for each id. With a target of 1 it learns how many there are,
--                  and reveals the lowest, the highest and the most frequent one.
--
-- A column whose target was set by hand is left alone. Before PostgreSQL 18 only a superuser can remove statistics
-- that exist.
CREATE OR REPLACE PROCEDURE mnemic.withhold_statistics(guarded regclass)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    altered record;
    is_changed boolean := false;
BEGIN
    FOR altered IN
        SELECT
            relation.oid AS relation_id, nspname, relname, reltuples > 0 AS is_analysed,
            array_agg(attname) FILTER (WHERE target = 0) AS withheld,
            'ALTER ' || CASE WHEN is_index THEN 'INDEX ' ELSE 'TABLE ' END || relation.oid::regclass || ' '
            || string_agg(format('ALTER COLUMN %s SET STATISTICS %s', label, target), ', ')
                FILTER (WHERE target <> current_target) AS statement
        -- The table and its indexes by their ids: joining all relations and columns would be half of a migration.
        FROM (
            SELECT guarded::oid AS relation_id, false AS is_index, NULL::int2vector AS indkey
            UNION ALL
            SELECT indexrelid, true, indkey FROM pg_index WHERE indrelid = guarded
        ) AS candidate
        JOIN pg_class AS relation ON relation.oid = relation_id
        JOIN pg_namespace ON pg_namespace.oid = relnamespace
        JOIN pg_attribute ON attrelid = relation.oid AND attnum > 0 AND NOT attisdropped
        CROSS JOIN LATERAL coalesce(attstattarget, -1) AS current_target
        CROSS JOIN LATERAL (
            SELECT
                -- Columns of an index are named by their number.
                CASE WHEN is_index THEN attnum::text ELSE quote_ident(attname) END AS label,
                CASE
                    WHEN current_target <> -1 THEN current_target
                    WHEN is_index OR NOT attnotnull OR atttypid <> 'uuid'::regtype THEN 0
                    WHEN attname = 'tenant_id' THEN -1
                    ELSE 1
                END AS target
        ) AS wanted
        WHERE NOT is_index OR indkey[attnum - 1] = 0
        GROUP BY relation.oid, nspname, relname, reltuples, is_index
    LOOP
        IF altered.statement IS NOT NULL THEN
            EXECUTE altered.statement;
            is_changed := true;
        END IF;
        CONTINUE WHEN NOT altered.is_analysed;
        IF current_setting('server_version_num')::int >= 180000 THEN
            EXECUTE
                'SELECT pg_clear_attribute_stats($1, $2, attname, inherited)'
                ' FROM unnest($3) AS attname, unnest(ARRAY[false, true]) AS inherited'
            USING altered.nspname, altered.relname, altered.withheld;
        ELSIF (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN
            DELETE FROM pg_statistic USING pg_attribute
            WHERE starelid = altered.relation_id AND attrelid = starelid AND attnum = staattnum
              AND attname = ANY (altered.withheld);
        END IF;
    END LOOP;
    -- Statistics of ids are made again with their new target.
    IF is_changed AND (SELECT reltuples > 0 FROM pg_class WHERE oid = guarded) THEN
        EXECUTE format('ANALYZE %s', guarded);
    END IF;
END
$$;
REVOKE ALL ON PROCEDURE mnemic.withhold_statistics(regclass) FROM PUBLIC;
GRANT EXECUTE ON PROCEDURE mnemic.withhold_statistics(regclass) TO mnemic_definer;
