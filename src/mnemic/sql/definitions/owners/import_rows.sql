-- Inserts exported lines of one owner, each an object with its `row`, under the verified tenant. Rows whose primary key exists
-- already are left as they are; any other conflict is an error, since a row that is silently left out would be a
-- gap. Needs a proof of maintenance, so that injected SQL cannot forge history. Returns how many rows were new.
CREATE OR REPLACE FUNCTION mnemic.import_rows(into_table text, imported_owner text, lines jsonb) RETURNS bigint
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
    IF (mnemic.verified_claim('maintenance') = mnemic.current_tenant()::text) IS NOT TRUE THEN
        RAISE insufficient_privilege USING MESSAGE = 'importing needs a proof of maintenance';
    END IF;
    SELECT pg_class.oid INTO target
    FROM pg_class
    WHERE relnamespace = 'state'::regnamespace AND pg_class.oid::regclass::text = into_table
      AND mnemic.owner_condition(pg_class.oid) IS NOT NULL;
    IF target IS NULL THEN
        RAISE invalid_parameter_value USING MESSAGE = 'there is no table of that name to import into';
    END IF;
    PERFORM mnemic.check_imported_rows(target, imported_owner, lines);
    SELECT
        string_agg(format('%I', attname), ', ' ORDER BY attnum),
        -- In a NOT NULL jsonb column, null in the file is JSON's null, which is a value.
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
    -- A memory that existed before keeps its own history: skip versions that would overlap it.
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
CALL mnemic.run_as_definer('mnemic.import_rows(text, text, jsonb)');
