-- Feedback on memories (record/feedback.py): whether a recalled memory was useful. Reinforcement and usefulness are
-- computed from it when memories are read. A promotion links a memory in `_global` to the one that it came from.
CREATE TABLE state.memory_feedback (
    tenant_id uuid NOT NULL,
    feedback_id uuid NOT NULL DEFAULT mnemic.new_id(),
    owner text NOT NULL CHECK (char_length(owner) BETWEEN 1 AND 256),
    memory_id uuid NOT NULL,
    kind text NOT NULL CHECK (kind IN ('useful', 'not_useful', 'cited')),
    conversation text CHECK (char_length(conversation) BETWEEN 1 AND 256),
    note text CHECK (char_length(note) BETWEEN 1 AND 1024),
    process text NOT NULL CHECK (char_length(process) BETWEEN 1 AND 256),
    at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, feedback_id),
    FOREIGN KEY (tenant_id, memory_id) REFERENCES state.memories ON DELETE CASCADE
);
COMMENT ON TABLE state.memory_feedback IS 'Whether memories that were recalled were useful.';
CREATE INDEX memory_feedback_of_memory ON state.memory_feedback (tenant_id, memory_id);
CALL mnemic.protect('state.memory_feedback');

CREATE TABLE state.promotions (
    tenant_id uuid NOT NULL,
    memory_id uuid NOT NULL,
    origin_id uuid NOT NULL,
    owner text NOT NULL CHECK (char_length(owner) BETWEEN 1 AND 256),
    thresholds jsonb NOT NULL CHECK (jsonb_typeof(thresholds) = 'object'),
    measured jsonb NOT NULL CHECK (jsonb_typeof(measured) = 'object'),
    changeset_id uuid NOT NULL,
    promoted_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, memory_id),
    FOREIGN KEY (tenant_id, memory_id) REFERENCES state.memories ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, origin_id) REFERENCES state.memories ON DELETE CASCADE
);
COMMENT ON TABLE state.promotions IS 'Memories in `_global` that were promoted from another channel, with the thresholds.';
CREATE INDEX promotions_of_origin ON state.promotions (tenant_id, origin_id);
CALL mnemic.protect('state.promotions');
