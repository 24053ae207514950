-- The vector tables that serve the tenant, locked against a change of model until the transaction ends; no row
-- before the first vector. VOLATILE, so that it reads after it has the lock.
CREATE OR REPLACE FUNCTION mnemic.vector_tables_in_use()
RETURNS TABLE (model text, table_name text, dimensions int, halfvec_oid oid, next_table_name text)
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(mnemic.model_lock_key());
    RETURN QUERY
    SELECT used.model, known.table_name, known.dimensions, halfvec.oid, next_one.table_name
    FROM vectors.tenant_models AS used
    JOIN mnemic.vector_models AS known ON known.model = used.model
    LEFT JOIN mnemic.vector_models AS next_one ON next_one.model = used.next_model
    JOIN pg_extension ON extname = 'vector'
    JOIN pg_type AS halfvec ON halfvec.typnamespace = extnamespace AND halfvec.typname = 'halfvec';
END
$$;
GRANT EXECUTE ON FUNCTION mnemic.vector_tables_in_use() TO mnemic_app, mnemic_definer;
