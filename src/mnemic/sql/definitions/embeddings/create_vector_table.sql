-- stage: before tables
-- needs: tenancy/run_as_definer
-- Creates the table of an embedding model, records the model and returns the name of the table. For
-- mnemic.open_vector_table() and for a restore, which creates the tables of a backup.
CREATE OR REPLACE FUNCTION mnemic.create_vector_table(wanted text, wanted_dimensions int) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    models_max CONSTANT int := 64;
    made text := 'model_' || substr(encode(sha256(convert_to(wanted, 'UTF8')), 'hex'), 1, 16);
    halfvec regtype := (
        SELECT pg_type.oid::regtype
        FROM pg_extension JOIN pg_type ON typnamespace = extnamespace
        WHERE extname = 'vector' AND typname = 'halfvec'
    );
BEGIN
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
    RETURN made;
END
$$;
CALL mnemic.run_as_definer('mnemic.create_vector_table(text, int)', 'mnemic_definer');
