-- Returns the table of an embedding model and creates it on first use. Only for a verified tenant, and for a
-- bounded number of models, since the tables are shared by all tenants.
CREATE OR REPLACE FUNCTION mnemic.open_vector_table(wanted text, wanted_dimensions int)
RETURNS TABLE (table_name text, dimensions int, halfvec_oid oid)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    IF mnemic.current_tenant() IS NULL THEN
        RAISE insufficient_privilege USING MESSAGE = 'no tenant was proved';
    END IF;
    PERFORM pg_advisory_xact_lock(hashtext('mnemic.vector_models'));
    IF NOT EXISTS (SELECT FROM mnemic.vector_models WHERE model = wanted) THEN
        PERFORM mnemic.create_vector_table(wanted, wanted_dimensions);
    END IF;
    RETURN QUERY
    SELECT known.table_name, known.dimensions, halfvec.oid
    FROM mnemic.vector_models AS known
    JOIN pg_extension ON extname = 'vector'
    JOIN pg_type AS halfvec ON halfvec.typnamespace = extnamespace AND halfvec.typname = 'halfvec'
    WHERE known.model = wanted;
END
$$;
CALL mnemic.run_as_definer('mnemic.open_vector_table(text, int)');
