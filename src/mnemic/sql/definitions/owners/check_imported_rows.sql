-- needs: owners/owner_condition
-- For mnemic.import_rows(): refuses lines that the import must not insert. A line belongs to the owner that the export
-- names, by its own column or by the row that it refers to. Numbers are finite, and times are within the years that
-- programs can read: a row with another one could be stored, and every later read of it would fail.
CREATE OR REPLACE FUNCTION mnemic.check_imported_rows(into_table regclass, imported_owner text, lines jsonb) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    belongs text := mnemic.owner_condition(into_table);
    unreadable text;
    found record;
BEGIN
    SELECT string_agg(
        CASE
            WHEN atttypid = 'timestamptz'::regtype
            THEN format('child.%I NOT BETWEEN ''0001-01-02'' AND ''9999-12-30''', attname)
            ELSE format('child.%I IN (''NaN'', ''Infinity'', ''-Infinity'')', attname)
        END, ' OR '
    ) INTO unreadable
    FROM pg_attribute
    WHERE attrelid = into_table AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
      AND atttypid IN ('timestamptz'::regtype, 'real'::regtype, 'double precision'::regtype, 'numeric'::regtype);
    EXECUTE format(
        'SELECT bool_and(coalesce(%2$s, false)) IS FALSE AS has_others, bool_or(%3$s) AS has_unreadable'
        ' FROM jsonb_array_elements($2) AS line,'
        ' jsonb_populate_record(NULL::%1$s, (line -> ''row'') || jsonb_build_object(''tenant_id'', $3)) AS child',
        into_table, belongs, coalesce(unreadable, 'false')
    ) INTO found USING imported_owner, lines, mnemic.current_tenant();
    IF found.has_others THEN
        RAISE invalid_parameter_value USING MESSAGE = format('the export has rows of another owner in %s', into_table);
    END IF;
    IF found.has_unreadable THEN
        RAISE invalid_parameter_value USING MESSAGE =
            format('the export has a number that is not finite, or a time out of range, in %s', into_table);
    END IF;
END
$$;
GRANT EXECUTE ON FUNCTION mnemic.check_imported_rows(regclass, text, jsonb) TO mnemic_definer;
