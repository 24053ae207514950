-- Vectors live apart from the records, one table per embedding model, so that vectors of two models
-- can never meet. A table is made when its model is first used and sealed with the model's name and
-- dimension: another dimension under the same name is an error.

CREATE TABLE mnemic.vector_models (
    model text PRIMARY KEY CHECK (char_length(model) BETWEEN 1 AND 256),
    dimensions int NOT NULL CHECK (dimensions BETWEEN 1 AND 4000),
    table_name text NOT NULL UNIQUE,
    created_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE mnemic.vector_models IS 'Which table of the schema vectors belongs to which embedding model.';
GRANT SELECT ON mnemic.vector_models TO mnemic_app;
GRANT SELECT, INSERT ON mnemic.vector_models TO mnemic_definer;
GRANT CREATE ON SCHEMA vectors TO mnemic_definer;
GRANT REFERENCES ON state.memories TO mnemic_definer;
GRANT EXECUTE ON PROCEDURE mnemic.protect(regclass, text) TO mnemic_definer;

-- Whoever makes the tables must reach the extension, which an administrator may have put anywhere.
DO $$
DECLARE
    place regnamespace := (SELECT extnamespace FROM pg_extension WHERE extname = 'vector');
BEGIN
    IF NOT has_schema_privilege('mnemic_definer', place, 'USAGE') THEN
        EXECUTE format('GRANT USAGE ON SCHEMA %s TO mnemic_definer', place);
    END IF;
EXCEPTION
    WHEN insufficient_privilege THEN
        RAISE insufficient_privilege USING MESSAGE = format(
            'an administrator must run: GRANT USAGE ON SCHEMA %s TO mnemic_app, mnemic_definer;', place
        );
END
$$;

-- The table of a model, made if this is its first use. Only a proven tenant may ask, and only for a
-- bounded number of models, since what it makes is there for all.
CREATE FUNCTION mnemic.open_vectors(wanted text, wanted_dimensions int)
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
CALL mnemic.seal('mnemic.open_vectors(text, int)');

-- Memories whose embedding could not be had when they were stored. They are findable by their words;
-- `mnemic embed` makes up for the rest.
CREATE TABLE queue.embedding_backlog (
    tenant_id uuid NOT NULL,
    memory_id uuid NOT NULL,
    last_error text NOT NULL,
    attempts int NOT NULL DEFAULT 1,
    marked_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, memory_id),
    FOREIGN KEY (tenant_id, memory_id) REFERENCES state.memories ON DELETE CASCADE
);
CALL mnemic.protect('queue.embedding_backlog');
