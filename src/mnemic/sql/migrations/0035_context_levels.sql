-- Levels 1 and 2 of full texts (context/level_store.py). Rules make a level when it is first needed, and what they made is
-- kept; a language model may write a better one later, in a job. A content that the model was asked about is never asked
-- about again: a level that did not pass the checks is kept without its text, with the reason.
CREATE TABLE state.context_levels (
    tenant_id uuid NOT NULL,
    owner text NOT NULL,
    content_hash bytea NOT NULL,
    level smallint NOT NULL CHECK (level IN (1, 2)),
    made_by text NOT NULL CHECK (made_by IN ('rules', 'model')),
    -- Version of the rules, or of the instructions and the name of the model.
    maker text NOT NULL CHECK (char_length(maker) BETWEEN 1 AND 256),
    -- What rules make depends on the origin of a text, too: type, tool, key.
    source_hash bytea CHECK (octet_length(source_hash) = 32),
    text bytea CHECK (octet_length(text) <= 16777216),
    dropped text CHECK (char_length(dropped) BETWEEN 1 AND 256),
    tokens int NOT NULL CHECK (tokens >= 0),
    lost text[] NOT NULL DEFAULT '{}' CHECK (cardinality(lost) <= 64),
    can_answer text[] NOT NULL DEFAULT '{}' CHECK (cardinality(can_answer) <= 64),
    fault_when text[] NOT NULL DEFAULT '{}' CHECK (cardinality(fault_when) <= 64),
    made_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, owner, content_hash, level, made_by),
    FOREIGN KEY (tenant_id, owner, content_hash) REFERENCES state.context_contents ON DELETE CASCADE,
    CHECK ((text IS NULL) = (dropped IS NOT NULL)),
    CHECK ((made_by = 'rules') = (source_hash IS NOT NULL))
);
COMMENT ON TABLE state.context_levels IS 'Shorter texts of context objects, by the hash of the full text.';
CALL mnemic.protect('state.context_levels');

-- How many levels of its objects the model has written: a process that has the session in memory sees that there are new ones.
ALTER TABLE state.context_sessions ADD COLUMN level_count int NOT NULL DEFAULT 0 CHECK (level_count >= 0);
