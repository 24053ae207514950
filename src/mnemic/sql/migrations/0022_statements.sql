-- Statements: what extraction understood from turns and documents (extraction/). A statement is a memory with the source
-- `extracted`; this table holds what only statements have. Subject and attribute identify what it is about: statements of
-- one owner and channel with the same subject and attribute give values of the same thing.
CREATE TABLE state.statements (
    tenant_id uuid NOT NULL,
    memory_id uuid NOT NULL,
    owner text NOT NULL CHECK (char_length(owner) BETWEEN 1 AND 256),
    channel text NOT NULL CHECK (char_length(channel) BETWEEN 1 AND 256),
    subject text NOT NULL CHECK (char_length(subject) BETWEEN 1 AND 256),
    subject_key text NOT NULL GENERATED ALWAYS AS (mnemic.name_key(subject)) STORED,
    attribute text NOT NULL CHECK (char_length(attribute) BETWEEN 1 AND 256),
    value text NOT NULL CHECK (char_length(value) BETWEEN 1 AND 2048),
    value_key text NOT NULL GENERATED ALWAYS AS (mnemic.name_key(value)) STORED,
    is_single_valued boolean NOT NULL,
    is_negated boolean NOT NULL DEFAULT false,
    certainty text NOT NULL CHECK (certainty IN ('explicit', 'implied', 'inferred', 'uncertain')),
    tense text NOT NULL DEFAULT 'current' CHECK (tense IN ('current', 'past', 'future')),
    extractor text NOT NULL CHECK (char_length(extractor) BETWEEN 1 AND 128),
    PRIMARY KEY (tenant_id, memory_id),
    FOREIGN KEY (tenant_id, memory_id) REFERENCES state.memories ON DELETE CASCADE
);
COMMENT ON TABLE state.statements IS 'Subject, attribute and value of memories that extraction made.';
CREATE INDEX statements_by_attribute ON state.statements (tenant_id, owner, channel, subject_key, attribute);
CALL mnemic.protect('state.statements');

-- The turns (or chunks of documents) that a statement rests on, with the verbatim quotation. Erasing the last source of a
-- statement erases the statement.
CREATE TABLE state.statement_sources (
    tenant_id uuid NOT NULL,
    memory_id uuid NOT NULL,
    source_id uuid NOT NULL,
    quotation text NOT NULL CHECK (char_length(quotation) BETWEEN 1 AND 8192),
    recorded_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, memory_id, source_id),
    FOREIGN KEY (tenant_id, memory_id) REFERENCES state.memories ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, source_id) REFERENCES state.memories ON DELETE CASCADE
);
COMMENT ON TABLE state.statement_sources IS 'Turns that statements rest on, each with the verbatim quotation.';
CREATE INDEX statement_sources_of_source ON state.statement_sources (tenant_id, source_id);
CALL mnemic.protect('state.statement_sources');

-- Which memories an extractor has read. It commits together with the statements, so that each is read once.
CREATE TABLE state.extraction_runs (
    tenant_id uuid NOT NULL,
    memory_id uuid NOT NULL,
    extractor text NOT NULL CHECK (char_length(extractor) BETWEEN 1 AND 128),
    statement_count int NOT NULL CHECK (statement_count >= 0),
    rejected_count int NOT NULL CHECK (rejected_count >= 0),
    extracted_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, memory_id, extractor),
    FOREIGN KEY (tenant_id, memory_id) REFERENCES state.memories ON DELETE CASCADE
);
COMMENT ON TABLE state.extraction_runs IS 'Memories that an extractor has read.';
CALL mnemic.protect('state.extraction_runs');

-- Statements that an extractor proposed and that were not accepted, with the reason.
CREATE TABLE state.rejected_statements (
    tenant_id uuid NOT NULL,
    rejected_id uuid NOT NULL DEFAULT mnemic.new_id(),
    memory_id uuid NOT NULL,
    extractor text NOT NULL CHECK (char_length(extractor) BETWEEN 1 AND 128),
    reason text NOT NULL CHECK (char_length(reason) BETWEEN 1 AND 256),
    statement jsonb NOT NULL CHECK (jsonb_typeof(statement) = 'object'),
    rejected_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, rejected_id),
    FOREIGN KEY (tenant_id, memory_id) REFERENCES state.memories ON DELETE CASCADE
);
COMMENT ON TABLE state.rejected_statements IS 'Statements that were proposed and not accepted, with the reason.';
CREATE INDEX rejected_statements_of_memory ON state.rejected_statements (tenant_id, memory_id);
CALL mnemic.protect('state.rejected_statements');

-- How far consolidation has read each conversation.
CREATE TABLE state.consolidated_conversations (
    tenant_id uuid NOT NULL,
    owner text NOT NULL,
    conversation text NOT NULL,
    next_position int NOT NULL DEFAULT 0 CHECK (next_position >= 0),
    summary_id uuid,
    consolidated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, owner, conversation),
    FOREIGN KEY (tenant_id, owner, conversation) REFERENCES state.conversations ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, summary_id) REFERENCES state.memories ON DELETE SET NULL (summary_id)
);
COMMENT ON TABLE state.consolidated_conversations IS 'How far consolidation has read each conversation.';
CALL mnemic.protect('state.consolidated_conversations');

-- Attributes that the tenant declares as single-valued or many-valued, beside the built-in ones.
CREATE TABLE state.attribute_kinds (
    tenant_id uuid NOT NULL REFERENCES state.tenants,
    attribute text NOT NULL CHECK (char_length(attribute) BETWEEN 1 AND 256),
    is_single_valued boolean NOT NULL,
    PRIMARY KEY (tenant_id, attribute)
);
COMMENT ON TABLE state.attribute_kinds IS 'Attributes that a tenant declares as single-valued or many-valued.';
CALL mnemic.protect('state.attribute_kinds');

-- What happens to a statement that contradicts an older one, for the tenant ('' as channel) or for one channel.
CREATE TABLE state.contradiction_policies (
    tenant_id uuid NOT NULL REFERENCES state.tenants,
    channel text NOT NULL DEFAULT '' CHECK (char_length(channel) <= 256),
    policy text NOT NULL CHECK (policy IN ('prefer_new', 'prefer_old', 'flag_review')),
    PRIMARY KEY (tenant_id, channel)
);
COMMENT ON TABLE state.contradiction_policies IS 'What happens to statements that contradict older ones.';
CALL mnemic.protect('state.contradiction_policies');
