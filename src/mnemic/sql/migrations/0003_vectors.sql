-- Vectors are stored apart from the memories, one table per embedding model, so that vectors of two models are never
-- compared. mnemic.open_vector_table() creates the table on first use and records the model's name and dimension: another
-- dimension under the same name is an error.
CREATE TABLE mnemic.vector_models (
    model text PRIMARY KEY CHECK (char_length(model) BETWEEN 1 AND 256),
    dimensions int NOT NULL CHECK (dimensions BETWEEN 1 AND 4000),
    table_name text NOT NULL UNIQUE,
    created_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE mnemic.vector_models IS 'Which table of the schema vectors belongs to which embedding model.';
GRANT SELECT ON mnemic.vector_models TO mnemic_app;
GRANT SELECT, INSERT, DELETE ON mnemic.vector_models TO mnemic_definer;
GRANT CREATE ON SCHEMA vectors TO mnemic_definer;
GRANT REFERENCES ON state.memories TO mnemic_definer;

-- mnemic_definer creates the tables, so it needs the schema of the extension, which the administrator has chosen.
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

-- Which model serves a tenant, and which one will replace it. Readers and writers of vectors share the tenant's model lock;
-- changing a row here takes it exclusively.
--   next_model is NULL         no change is going on
--   next_model, not is_listed  writers add new memories to queue.reembedding; older ones are not in it yet
--   next_model, is_listed      memories in queue.reembedding still lack a vector of the next model
CREATE TABLE vectors.tenant_models (
    tenant_id uuid PRIMARY KEY REFERENCES state.tenants,
    model text NOT NULL CHECK (char_length(model) BETWEEN 1 AND 256),
    next_model text CHECK (char_length(next_model) BETWEEN 1 AND 256),
    is_listed boolean NOT NULL DEFAULT false,
    started_at timestamptz,
    switched_at timestamptz,
    CONSTRAINT another_model CHECK (next_model <> model)
);
COMMENT ON TABLE vectors.tenant_models IS 'Which embedding model serves each tenant, and which one is being changed to.';
CALL mnemic.protect('vectors.tenant_models', 'SELECT');
GRANT UPDATE ON vectors.tenant_models TO mnemic_definer;

-- Memories without a vector, because the embedder failed when they were stored. Lexical search finds them; a job, or
-- `mnemic embed`, backfills their vectors.
CREATE TABLE queue.embedding_backlog (
    tenant_id uuid NOT NULL,
    memory_id uuid NOT NULL,
    last_error text NOT NULL,
    attempts int NOT NULL DEFAULT 1,
    marked_at timestamptz NOT NULL DEFAULT now(),
    -- Set when the embedder has refused the text too often; `last_error` says why.
    gave_up_at timestamptz,
    PRIMARY KEY (tenant_id, memory_id),
    FOREIGN KEY (tenant_id, memory_id) REFERENCES state.memories ON DELETE CASCADE
);
CALL mnemic.protect('queue.embedding_backlog');

CREATE TABLE queue.reembedding (
    tenant_id uuid NOT NULL,
    memory_id uuid NOT NULL,
    attempts int NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    last_error text,
    gave_up_at timestamptz,
    PRIMARY KEY (tenant_id, memory_id),
    FOREIGN KEY (tenant_id, memory_id) REFERENCES state.memories ON DELETE CASCADE
);
COMMENT ON TABLE queue.reembedding IS 'Memories that still lack a vector of the model that is being changed to.';
CALL mnemic.protect('queue.reembedding');
