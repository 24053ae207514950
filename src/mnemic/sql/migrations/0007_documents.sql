-- REFERENCE: documents by name. Their text is stored as memories of the category `reference`, in chunks if it is long, so
-- that recall finds it like any other memory.
CREATE TABLE state.reference_documents (
    tenant_id uuid NOT NULL REFERENCES state.tenants,
    document_id uuid NOT NULL DEFAULT mnemic.new_id(),
    owner text NOT NULL CHECK (char_length(owner) BETWEEN 1 AND 256),
    name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 256),
    title text CHECK (char_length(title) BETWEEN 1 AND 512),
    content_hash bytea NOT NULL CHECK (octet_length(content_hash) = 32),
    -- The memory that holds the whole text; NULL for an ingested document, which has only chunks.
    whole_id uuid,
    character_count int NOT NULL CHECK (character_count > 0),
    metadata jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(metadata) = 'object'),
    version int NOT NULL DEFAULT 1 CHECK (version > 0),
    process text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, document_id),
    UNIQUE (tenant_id, owner, name)
);
COMMENT ON TABLE state.reference_documents IS 'Documents by name; their text is memories of the category reference.';
CALL mnemic.protect('state.reference_documents');

-- An ingested document: its text as it was read from the file, and where its headings and pages begin. A job
-- derives the memories from it. The job may be killed at any time: the next run compares and adds what is missing.
CREATE TABLE state.document_sources (
    tenant_id uuid NOT NULL,
    document_id uuid NOT NULL,
    owner text NOT NULL,
    channel text NOT NULL CHECK (char_length(channel) BETWEEN 1 AND 256),
    tags text[] NOT NULL CHECK (mnemic.are_tags(tags)),
    media_type text NOT NULL CHECK (media_type IN ('text/plain', 'text/markdown', 'text/html', 'application/pdf')),
    content text NOT NULL CHECK (char_length(content) BETWEEN 1 AND 20000000),
    sections jsonb NOT NULL CHECK (jsonb_typeof(sections) = 'array'),
    -- The version of the document whose chunks are complete; lower than the document's while a job works on it.
    ingested_version int NOT NULL DEFAULT 0 CHECK (ingested_version >= 0),
    job_id uuid,
    PRIMARY KEY (tenant_id, document_id),
    FOREIGN KEY (tenant_id, document_id) REFERENCES state.reference_documents ON DELETE CASCADE
);
COMMENT ON TABLE state.document_sources IS 'The text of ingested documents, as it was read.';
CALL mnemic.protect('state.document_sources');

-- The chunks of a document. A chunk is identified by its text and the number of equal chunks before it; equal texts are one
-- memory. The position of a chunk changes with every edit before it. It is stored here and not with the memory, whose history
-- and events would fill with such changes.
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
    -- Embedded in front of the text: the headings above it and the end of the preceding text.
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
