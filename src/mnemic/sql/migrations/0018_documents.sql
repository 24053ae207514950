-- Documents that are ingested in the background, and changing the embedding model while everything goes on.

-- A document that was ingested: its text as it was read from the file, and where its headings and pages begin.
-- The memories are made from it, by a job that may be killed at any time: what is missing is seen by comparing.
-- Such a document has no memory that holds the whole text, so that `whole_id` may be empty from now on.
ALTER TABLE state.reference_documents ALTER COLUMN whole_id DROP NOT NULL;

CREATE TABLE state.document_sources (
    tenant_id uuid NOT NULL,
    document_id uuid NOT NULL,
    owner text NOT NULL,
    channel text NOT NULL CHECK (char_length(channel) BETWEEN 1 AND 256),
    tags text[] NOT NULL CHECK (mnemic.are_tags(tags)),
    media_type text NOT NULL CHECK (media_type IN ('text/plain', 'text/markdown', 'text/html', 'application/pdf')),
    content text NOT NULL CHECK (char_length(content) BETWEEN 1 AND 20000000),
    sections jsonb NOT NULL CHECK (jsonb_typeof(sections) = 'array'),
    -- The version of the document whose chunks are all there; less than the document's while a job is at it.
    ingested_version int NOT NULL DEFAULT 0 CHECK (ingested_version >= 0),
    job_id uuid,
    PRIMARY KEY (tenant_id, document_id),
    FOREIGN KEY (tenant_id, document_id) REFERENCES state.reference_documents ON DELETE CASCADE
);
COMMENT ON TABLE state.document_sources IS 'The text of ingested documents, as it was read.';
CALL mnemic.protect('state.document_sources');

-- Which memories a document is made of. A chunk is known by its words and by how many equal ones stand before
-- it; equal words are one memory, in however many places they stand. Where a chunk stands changes with every
-- edit before it: that is kept here and not with the memory, whose history and events would tell of nothing else.
CREATE TABLE state.document_chunks (
    tenant_id uuid NOT NULL,
    document_id uuid NOT NULL,
    content_hash bytea NOT NULL CHECK (octet_length(content_hash) = 32),
    occurrence int NOT NULL CHECK (occurrence >= 0),
    owner text NOT NULL,
    memory_id uuid NOT NULL,
    chunk_index int NOT NULL CHECK (chunk_index >= 0),
    start_character int NOT NULL CHECK (start_character >= 0),
    end_character int NOT NULL,
    headings text[] NOT NULL DEFAULT '{}',
    page int CHECK (page > 0),
    -- What is embedded in front of the words: the headings above them and the end of what stands before.
    context text NOT NULL DEFAULT '',
    PRIMARY KEY (tenant_id, document_id, content_hash, occurrence),
    FOREIGN KEY (tenant_id, document_id) REFERENCES state.document_sources ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, memory_id) REFERENCES state.memories ON DELETE CASCADE,
    CONSTRAINT not_empty CHECK (end_character > start_character)
);
COMMENT ON TABLE state.document_chunks IS 'Which memories an ingested document is made of, and where their words stand.';
CREATE INDEX document_chunks_order ON state.document_chunks (tenant_id, document_id, chunk_index);
CREATE INDEX document_chunks_memory ON state.document_chunks (tenant_id, memory_id);
CALL mnemic.protect('state.document_chunks');

-- A text that the embedder refuses again and again waits no longer; its error stays, for whoever wants to know.
ALTER TABLE queue.embedding_backlog ADD COLUMN gave_up_at timestamptz;

-- Which model's vectors serve a tenant, and which one is to take its place. Everybody who reads or writes vectors
-- holds the tenant's lock `mnemic.model` together with others; whoever changes a row here holds it alone.
--   next_model is NULL         nothing is being changed
--   next_model, not is_listed  writers mark what they store; what was there before is not listed yet
--   next_model, is_listed      what is in queue.reembedding still lacks a vector of the next model
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
-- Only so that a table is not dropped while another tenant uses it.
CREATE POLICY definer_counts ON vectors.tenant_models FOR SELECT TO mnemic_definer USING (true);

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

-- The lock of a tenant's model. The tenant need not be verified: who lies about it locks nothing that he reads.
CREATE FUNCTION mnemic.model_lock() RETURNS bigint
LANGUAGE sql STABLE
RETURN hashtextextended('mnemic.model ' || coalesce(current_setting('mnemic.tenant', true), ''), 0);

-- The vectors that serve the tenant, which they go on doing until the transaction ends; no row before the first
-- vector. VOLATILE, so that it looks after it has the lock and not before.
CREATE FUNCTION mnemic.vectors_in_use()
RETURNS TABLE (model text, table_name text, dimensions int, halfvec_oid oid, next_table_name text)
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(mnemic.model_lock());
    RETURN QUERY
    SELECT used.model, known.table_name, known.dimensions, halfvec.oid, next_one.table_name
    FROM vectors.tenant_models AS used
    JOIN mnemic.vector_models AS known ON known.model = used.model
    LEFT JOIN mnemic.vector_models AS next_one ON next_one.model = used.next_model
    JOIN pg_extension ON extname = 'vector'
    JOIN pg_type AS halfvec ON halfvec.typnamespace = extnamespace AND halfvec.typname = 'halfvec';
END
$$;
GRANT EXECUTE ON FUNCTION mnemic.vectors_in_use(), mnemic.model_lock() TO mnemic_app, mnemic_definer;

-- Says which model serves the tenant if nothing does yet: the one that most of its vectors are of, from before
-- this was kept, else the one that is wanted, if any. Returns it. What has vectors of other models only is to be
-- embedded by the one that serves.
CREATE FUNCTION mnemic.adopt_model(wanted text, wanted_dimensions int) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    tenant uuid := mnemic.current_tenant();
    adopted text := (SELECT used.model FROM vectors.tenant_models AS used WHERE used.tenant_id = tenant);
    known record;
    most bigint := 0;
    counted bigint;
BEGIN
    IF tenant IS NULL THEN
        RAISE insufficient_privilege USING MESSAGE = 'no tenant was proved';
    END IF;
    IF adopted IS NOT NULL THEN
        RETURN adopted;
    END IF;
    FOR known IN SELECT vector_models.model, vector_models.table_name FROM mnemic.vector_models LOOP
        EXECUTE format('SELECT count(*) FROM vectors.%I WHERE tenant_id = $1', known.table_name) INTO counted USING tenant;
        IF counted > most THEN
            most := counted;
            adopted := known.model;
        END IF;
    END LOOP;
    IF adopted IS NULL AND wanted IS NULL THEN
        RETURN NULL;
    ELSIF adopted IS NULL THEN
        adopted := wanted;
        PERFORM mnemic.open_vectors(wanted, wanted_dimensions);
    ELSE
        EXECUTE format(
            'INSERT INTO queue.embedding_backlog (tenant_id, memory_id, last_error)'
            ' SELECT lacking.tenant_id, lacking.memory_id, %L FROM state.memories AS lacking'
            ' WHERE lacking.tenant_id = $1 AND NOT EXISTS ('
            '     SELECT FROM vectors.%I AS made WHERE made.tenant_id = $1 AND made.memory_id = lacking.memory_id)'
            ' ON CONFLICT DO NOTHING',
            'it was embedded by another model only',
            (SELECT chosen.table_name FROM mnemic.vector_models AS chosen WHERE chosen.model = adopted)
        ) USING tenant;
    END IF;
    INSERT INTO vectors.tenant_models (tenant_id, model) VALUES (tenant, adopted) ON CONFLICT DO NOTHING;
    RETURN (SELECT used.model FROM vectors.tenant_models AS used WHERE used.tenant_id = tenant);
END
$$;
CALL mnemic.seal('mnemic.adopt_model(text, int)');

-- Waits for those who use the tenant's vectors, but not for long: behind whoever waits, all others wait.
CREATE FUNCTION mnemic.hold_model() RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM set_config('lock_timeout', '300ms', true);
    PERFORM pg_advisory_xact_lock(mnemic.model_lock());
END
$$;
GRANT EXECUTE ON FUNCTION mnemic.hold_model() TO mnemic_definer;

-- Begins to change the tenant's model, or changes where that leads. The model that serves anyway means that
-- nothing is to be changed any more. Returns whether there is something to do. The model's table is made before, in
-- another transaction: making it waits for writers, who hold the tenant's lock.
CREATE FUNCTION mnemic.begin_model_change(wanted text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    tenant uuid := mnemic.current_tenant();
    serving text;
    next_one text;
BEGIN
    -- So that nobody drops its table meanwhile.
    PERFORM pg_advisory_xact_lock(hashtext('mnemic.vector_models'));
    IF NOT EXISTS (SELECT FROM mnemic.vector_models AS known WHERE known.model = wanted) THEN
        RAISE EXCEPTION 'the model has no table yet';
    END IF;
    serving := mnemic.adopt_model(wanted, NULL);
    next_one := (SELECT used.next_model FROM vectors.tenant_models AS used WHERE used.tenant_id = tenant);
    IF serving = wanted AND next_one IS NULL OR next_one = wanted THEN
        RETURN next_one IS NOT NULL;
    END IF;
    PERFORM mnemic.hold_model();
    DELETE FROM queue.reembedding WHERE reembedding.tenant_id = tenant;
    UPDATE vectors.tenant_models AS used
    SET next_model = nullif(wanted, used.model), is_listed = false, started_at = now()
    WHERE used.tenant_id = tenant;
    RETURN (SELECT used.next_model IS NOT NULL FROM vectors.tenant_models AS used WHERE used.tenant_id = tenant);
END
$$;
CALL mnemic.seal('mnemic.begin_model_change(text)');

-- Lists what has to be embedded anew: everything that was there before writers began to mark what they store.
CREATE FUNCTION mnemic.list_reembedding(wanted text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    tenant uuid := mnemic.current_tenant();
BEGIN
    PERFORM FROM vectors.tenant_models AS used
    WHERE used.tenant_id = tenant AND used.next_model = wanted AND NOT used.is_listed
    FOR UPDATE;
    IF FOUND THEN
        INSERT INTO queue.reembedding (tenant_id, memory_id)
        SELECT memories.tenant_id, memories.memory_id FROM state.memories WHERE memories.tenant_id = tenant
        ON CONFLICT DO NOTHING;
        UPDATE vectors.tenant_models AS used SET is_listed = true WHERE used.tenant_id = tenant;
    END IF;
END
$$;
CALL mnemic.seal('mnemic.list_reembedding(text)');

-- Lets the next model serve, if it lacks no more than `lacking_most` memories: from the commit on, and for all at
-- once. What it lacks waits for a vector from then on; what it refused waits for nobody; what waited and has a
-- vector now waits no longer. Returns whether it was done.
CREATE FUNCTION mnemic.switch_model(wanted text, lacking_most int) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    tenant uuid := mnemic.current_tenant();
BEGIN
    PERFORM mnemic.hold_model();
    IF NOT EXISTS (
        SELECT FROM vectors.tenant_models AS used
        WHERE used.tenant_id = tenant AND used.next_model = wanted AND used.is_listed
    ) OR (
        SELECT count(*) FROM (
            SELECT FROM queue.reembedding AS listed
            WHERE listed.tenant_id = tenant AND listed.gave_up_at IS NULL
            LIMIT lacking_most + 1
        ) AS lacking
    ) > lacking_most THEN
        RETURN false;
    END IF;
    EXECUTE format(
        'DELETE FROM queue.embedding_backlog AS waiting USING vectors.%I AS made'
        ' WHERE waiting.tenant_id = $1 AND made.tenant_id = $1 AND made.memory_id = waiting.memory_id',
        (SELECT known.table_name FROM mnemic.vector_models AS known WHERE known.model = wanted)
    ) USING tenant;
    INSERT INTO queue.embedding_backlog (tenant_id, memory_id, last_error, attempts, gave_up_at)
    SELECT
        listed.tenant_id, listed.memory_id, coalesce(listed.last_error, 'the embedding model was changed'),
        listed.attempts, listed.gave_up_at
    FROM queue.reembedding AS listed
    WHERE listed.tenant_id = tenant
    ON CONFLICT DO NOTHING;
    DELETE FROM queue.reembedding AS listed WHERE listed.tenant_id = tenant;
    UPDATE vectors.tenant_models AS used
    SET model = wanted, next_model = NULL, is_listed = false, switched_at = now()
    WHERE used.tenant_id = tenant;
    RETURN true;
END
$$;
CALL mnemic.seal('mnemic.switch_model(text, int)');

-- Drops the table of a model that serves no tenant and holds nothing. Returns whether it is gone. Row-level
-- security is lifted for that one look, in a transaction that nobody else can see: what it hides would be lost.
CREATE FUNCTION mnemic.drop_vectors(unwanted text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    dropped text;
    is_empty boolean;
BEGIN
    IF mnemic.current_tenant() IS NULL THEN
        RAISE insufficient_privilege USING MESSAGE = 'no tenant was proved';
    END IF;
    PERFORM set_config('lock_timeout', '300ms', true);
    PERFORM pg_advisory_xact_lock(hashtext('mnemic.vector_models'));
    SELECT known.table_name INTO dropped FROM mnemic.vector_models AS known WHERE known.model = unwanted;
    IF dropped IS NULL THEN
        RETURN true;
    END IF;
    IF EXISTS (SELECT FROM vectors.tenant_models AS used WHERE unwanted IN (used.model, used.next_model)) THEN
        RETURN false;
    END IF;
    EXECUTE format('ALTER TABLE vectors.%I NO FORCE ROW LEVEL SECURITY', dropped);
    EXECUTE format('SELECT NOT EXISTS (SELECT FROM vectors.%I)', dropped) INTO is_empty;
    IF is_empty THEN
        EXECUTE format('DROP TABLE vectors.%I', dropped);
        DELETE FROM mnemic.vector_models AS known WHERE known.model = unwanted;
    ELSE
        EXECUTE format('ALTER TABLE vectors.%I FORCE ROW LEVEL SECURITY', dropped);
    END IF;
    RETURN is_empty;
END
$$;
GRANT DELETE ON mnemic.vector_models TO mnemic_definer;
CALL mnemic.seal('mnemic.drop_vectors(text)');
