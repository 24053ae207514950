-- All rows of an owner in one table, as JSON without the tenant and without generated columns. Runs with the
-- caller's privileges: it only reads.
CREATE OR REPLACE FUNCTION mnemic.export_rows(exported text, from_table regclass) RETURNS SETOF jsonb
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    condition text := mnemic.owner_condition(from_table);
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
GRANT EXECUTE ON FUNCTION mnemic.export_rows(text, regclass) TO mnemic_app, mnemic_definer;
