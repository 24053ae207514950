-- REFERENCE: documents by name. Their text is memories of the category `reference`, in chunks where it
-- is long, so that it is found like everything else; this table knows which chunks are the document now.

CREATE TABLE state.reference_documents (
    tenant_id uuid NOT NULL REFERENCES state.tenants,
    document_id uuid NOT NULL DEFAULT mnemic.new_id(),
    owner text NOT NULL CHECK (char_length(owner) BETWEEN 1 AND 256),
    name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 256),
    title text CHECK (char_length(title) BETWEEN 1 AND 512),
    content_hash bytea NOT NULL CHECK (octet_length(content_hash) = 32),
    whole_id uuid NOT NULL,
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
