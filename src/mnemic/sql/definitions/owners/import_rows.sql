-- Takes exported lines in, each an object with its `row`, under the tenant that imports them. Rows that
-- are there already, by their primary key, stay as they are; anything else that stands in the way is an
-- error, since a row left out in silence would be a hole in what was exported. Returns how many were new.
CREATE OR REPLACE FUNCTION mnemic.import_rows(into_table text, lines jsonb) RETURNS bigint
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
