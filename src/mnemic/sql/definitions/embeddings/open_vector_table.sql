-- Returns the table of an embedding model and creates it on first use. Only for a verified tenant, and for a
-- bounded number of models, since the tables are shared by all tenants.
CREATE OR REPLACE FUNCTION mnemic.open_vector_table(wanted text, wanted_dimensions int)
RETURNS TABLE (table_name text, dimensions int, halfvec_oid oid)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    models_max CONSTANT int := 64;
    made text := 'model_' || substr(encode(sha256(convert_to(wanted, 'UTF8')), 'hex'), 1, 16);
    halfvec regtype := (
        SELECT pg_type.oid::regtype
        FROM pg_extension JOIN pg_type ON typnamespace = extnamespace
        WHERE extname = 'vector' AND typname = 'halfvec'
    );
BEGIN
    IF mnemic.current_tenant() IS NULL THEN
        RAISE insufficient_privilege USING MESSAGE = 'no tenant was proved';
    END IF;
    PERFORM pg_advisory_xact_lock(hashtext('mnemic.vector_models'));
    IF NOT EXISTS (SELECT FROM mnemic.vector_models WHERE model = wanted) THEN
        IF (SELECT count(*) FROM mnemic.vector_models) >= models_max THEN
            RAISE EXCEPTION 'this database has % embedding models already, which is the limit', models_max;
        END IF;
        EXECUTE format(
            'CREATE TABLE vectors.%1$I ('
            ' tenant_id uuid NOT NULL, memory_id uuid NOT NULL, owner text NOT NULL, embedding %2$s(%3$s) NOT NULL,'
            ' PRIMARY KEY (tenant_id, memory_id),'
            ' FOREIGN KEY (tenant_id, memory_id) REFERENCES state.memories ON DELETE CASCADE)',
            made, halfvec, wanted_dimensions
        );
        EXECUTE format('COMMENT ON TABLE vectors.%I IS %L', made, wanted || ', ' || wanted_dimensions || ' dimensions');
        EXECUTE format('CREATE INDEX ON vectors.%I (tenant_id, owner, memory_id)', made);
        CALL mnemic.protect(format('vectors.%I', made)::regclass, 'SELECT, INSERT, DELETE');
        INSERT INTO mnemic.vector_models (model, dimensions, table_name) VALUES (wanted, wanted_dimensions, made);
    END IF;
    RETURN QUERY SELECT table_name, dimensions, halfvec::oid FROM mnemic.vector_models WHERE model = wanted;
END
$$;
CALL mnemic.run_as_definer('mnemic.open_vector_table(text, int)');
