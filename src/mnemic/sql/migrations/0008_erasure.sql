-- Erasing an owner, and moving an owner elsewhere. Both go by the catalogue, so that a table that a
-- later migration or an extension adds is covered without being named here: whatever has a column
-- `owner`, and whatever hangs on such a table by a foreign key.
--
-- Both run as mnemic_definer, within the tenant's policy, and only in a transaction that proves the
-- purpose `maintenance`: SQL that was smuggled into an ordinary transaction can neither erase nor
-- forge history.

-- Tables that hold something about owners, and the condition that finds an owner's rows (the owner is
-- parameter $1). `depth` orders them: what refers to others comes behind them.
CREATE FUNCTION mnemic.owned_tables()
RETURNS TABLE (guarded regclass, condition text, depth int)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    WITH RECURSIVE ours AS (
        SELECT pg_class.oid
        FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
        WHERE nspname IN ('state', 'vectors', 'traces', 'queue') AND relkind IN ('r', 'p') AND NOT relispartition
    ),
    direct AS (
        SELECT ours.oid, 'owner = $1' AS condition
        FROM ours JOIN pg_attribute ON attrelid = ours.oid AND attname = 'owner' AND NOT attisdropped
    ),
    -- A row without an owner of its own belongs to whoever owns a row that it refers to.
    hanging AS (
        SELECT conrelid AS oid, string_agg(
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
        ) AS condition
        FROM pg_constraint
        JOIN ours ON ours.oid = conrelid
        WHERE contype = 'f' AND conparentid = 0 AND confrelid IN (SELECT oid FROM direct)
          AND conrelid NOT IN (SELECT oid FROM direct)
        GROUP BY conrelid
    ),
    owned AS (SELECT * FROM direct UNION ALL SELECT * FROM hanging),
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

-- Deletes all that is held about an owner; one row per table with the number of rows that went.
CREATE FUNCTION mnemic.erase_owner(erased text) RETURNS TABLE (table_name text, row_count bigint)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    owned record;
BEGIN
    IF (mnemic.verified('maintenance') = mnemic.current_tenant()::text) IS NOT TRUE THEN
        RAISE insufficient_privilege USING MESSAGE = 'erasing needs a proof of maintenance';
    END IF;
    -- Children before parents, so that each row is counted where it is and not lost in a cascade.
    FOR owned IN SELECT * FROM mnemic.owned_tables() ORDER BY depth DESC, guarded::text LOOP
        EXECUTE format('DELETE FROM %s AS child WHERE %s', owned.guarded, owned.condition) USING erased;
        GET DIAGNOSTICS row_count = ROW_COUNT;
        table_name := owned.guarded::text;
        RETURN NEXT;
    END LOOP;
END
$$;
CALL mnemic.seal('mnemic.erase_owner(text)');

-- All that is held about an owner, a table at a time, as JSON without the tenant; vectors are left
-- out, they are made anew from the words. Runs with the caller's rights: it only reads.
CREATE FUNCTION mnemic.export_rows(exported text, from_table regclass) RETURNS SETOF jsonb
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    condition text := (SELECT owned.condition FROM mnemic.owned_tables() AS owned WHERE owned.guarded = from_table);
    generated text[] := ARRAY(
        SELECT attname::text FROM pg_attribute WHERE attrelid = from_table AND attgenerated <> ''
    ) || 'tenant_id'::text;
BEGIN
    IF condition IS NULL THEN
        RAISE EXCEPTION '% holds nothing about owners', from_table;
    END IF;
    RETURN QUERY EXECUTE format(
        'SELECT to_jsonb(child) - $2 FROM %s AS child WHERE %s', from_table, condition
    ) USING exported, generated;
END
$$;
GRANT EXECUTE ON FUNCTION mnemic.owned_tables(), mnemic.export_rows(text, regclass) TO mnemic_app, mnemic_definer;

-- Takes exported lines in, each an object with its `row`, under the tenant that imports them. Rows that
-- are there already, by their primary key, stay as they are; anything else that stands in the way is an
-- error, since a row left out in silence would be a hole in what was exported. Returns how many were new.
CREATE FUNCTION mnemic.import_rows(into_table text, lines jsonb) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    target regclass;
    columns text;
    given_columns text;
    key text;
    condition text := 'true';
    imported bigint;
BEGIN
    IF (mnemic.verified('maintenance') = mnemic.current_tenant()::text) IS NOT TRUE THEN
        RAISE insufficient_privilege USING MESSAGE = 'importing needs a proof of maintenance';
    END IF;
    SELECT owned.guarded INTO target FROM mnemic.owned_tables() AS owned WHERE owned.guarded::text = into_table;
    IF target IS NULL THEN
        RAISE invalid_parameter_value USING MESSAGE = 'there is no table of that name to import into';
    END IF;
    SELECT
        string_agg(format('%I', attname), ', ' ORDER BY attnum),
        -- Where a column cannot be empty, the null in the file is JSON's own, which is a value.
        string_agg(
            format(
                CASE WHEN attnotnull AND atttypid = 'jsonb'::regtype THEN 'coalesce(given.%I, ''null'')' ELSE 'given.%I' END,
                attname
            ),
            ', ' ORDER BY attnum
        )
    INTO columns, given_columns
    FROM pg_attribute
    WHERE attrelid = target AND attnum > 0 AND NOT attisdropped AND attgenerated = '' AND attname <> 'tenant_id';
    SELECT string_agg(format('%I', attname), ', ') INTO key
    FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = ANY (indkey)
    WHERE indrelid = target AND indisprimary;
    -- A memory that was here before has a history of its own: no version of another one goes on top of it.
    IF target = 'state.memory_versions'::regclass THEN
        condition := 'NOT EXISTS (SELECT FROM state.memories AS kept WHERE kept.tenant_id = mnemic.current_tenant()'
            ' AND kept.memory_id = given.memory_id AND kept.version <= given.version)';
    END IF;
    EXECUTE format(
        'INSERT INTO %1$s (tenant_id, %2$s) SELECT mnemic.current_tenant(), %3$s'
        ' FROM jsonb_array_elements($1) AS line, jsonb_populate_record(NULL::%1$s, line -> ''row'') AS given'
        ' WHERE %4$s ON CONFLICT (%5$s) DO NOTHING',
        target, columns, given_columns, condition, key
    ) USING lines;
    GET DIAGNOSTICS imported = ROW_COUNT;
    RETURN imported;
END
$$;
CALL mnemic.seal('mnemic.import_rows(text, jsonb)');

-- For restoring a backup, which gives everything to whoever restores: hands back to mnemic_definer the
-- functions that must run as it, and the tables that its functions make.
CREATE PROCEDURE mnemic.seal_again()
LANGUAGE plpgsql
AS $$
DECLARE
    unsealed regprocedure;
    made regclass;
BEGIN
    GRANT CREATE ON SCHEMA mnemic TO mnemic_definer;
    FOR unsealed IN
        SELECT pg_proc.oid FROM pg_proc WHERE pronamespace = 'mnemic'::regnamespace AND prosecdef
    LOOP
        EXECUTE format('ALTER FUNCTION %s OWNER TO mnemic_definer', unsealed);
    END LOOP;
    REVOKE CREATE ON SCHEMA mnemic FROM mnemic_definer;
    FOR made IN
        SELECT pg_class.oid FROM pg_class
        WHERE relkind IN ('r', 'p') AND (
            relnamespace = 'vectors'::regnamespace
            OR pg_class.oid IN (SELECT relid FROM pg_partition_tree('traces.memory_log'))
        )
    LOOP
        EXECUTE format('ALTER TABLE %s OWNER TO mnemic_definer', made);
    END LOOP;
END
$$;
REVOKE ALL ON PROCEDURE mnemic.seal_again() FROM PUBLIC;
