-- Feedback on memories (record/feedback.py), and promotions (promotion/).

-- Whether a memory was useful in a conversation: one verdict for each conversation, the last one. Callers give feedback on
-- memories of their own only.
CREATE TABLE state.memory_feedback (
    tenant_id uuid NOT NULL,
    feedback_id uuid NOT NULL DEFAULT mnemic.new_id(),
    owner text NOT NULL CHECK (char_length(owner) BETWEEN 1 AND 256),
    memory_id uuid NOT NULL,
    kind text NOT NULL CHECK (kind IN ('useful', 'not_useful', 'cited')),
    conversation text CHECK (char_length(conversation) BETWEEN 1 AND 256),
    note text CHECK (char_length(note) BETWEEN 1 AND 1024),
    process text NOT NULL CHECK (char_length(process) BETWEEN 1 AND 256),
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, feedback_id),
    UNIQUE NULLS NOT DISTINCT (tenant_id, memory_id, conversation),
    FOREIGN KEY (tenant_id, memory_id) REFERENCES state.memories ON DELETE CASCADE
);
COMMENT ON TABLE state.memory_feedback IS 'Whether memories that were recalled were useful, once per conversation.';
CREATE INDEX memory_feedback_newest ON state.memory_feedback (tenant_id, owner, feedback_id DESC);
CALL mnemic.protect('state.memory_feedback');

-- What recall needs of the feedback, in the row that it reads for every candidate anyway. mnemic.salience() and
-- mnemic.usefulness() compute from it when a memory is read. NULL without feedback.
ALTER TABLE state.recall_counts ADD COLUMN useful_count int CHECK (useful_count >= 0);
ALTER TABLE state.recall_counts ADD COLUMN not_useful_count int CHECK (not_useful_count >= 0);
-- When the memory was last useful or cited.
ALTER TABLE state.recall_counts ADD COLUMN last_useful_at timestamptz;
GRANT UPDATE (useful_count, not_useful_count, last_useful_at) ON state.recall_counts TO mnemic_app;

-- Memories that were promoted: moved from their channel to `_global`, so that recall finds them in every channel. States:
-- *promoted* -> *demoted* (the evidence went; may be promoted again) or *undone* (by a person; stays where it is).
CREATE TABLE state.promotions (
    tenant_id uuid NOT NULL,
    memory_id uuid NOT NULL,
    owner text NOT NULL CHECK (char_length(owner) BETWEEN 1 AND 256),
    state text NOT NULL DEFAULT 'promoted' CHECK (state IN ('promoted', 'demoted', 'undone')),
    origin_channel text NOT NULL CHECK (char_length(origin_channel) BETWEEN 1 AND 256),
    thresholds jsonb NOT NULL CHECK (jsonb_typeof(thresholds) = 'object'),
    measured jsonb NOT NULL CHECK (jsonb_typeof(measured) = 'object'),
    changeset_id uuid NOT NULL,
    promoted_at timestamptz NOT NULL DEFAULT now(),
    ended_at timestamptz,
    ending_reason text CHECK (char_length(ending_reason) BETWEEN 1 AND 1024),
    PRIMARY KEY (tenant_id, memory_id),
    FOREIGN KEY (tenant_id, memory_id) REFERENCES state.memories ON DELETE CASCADE,
    CONSTRAINT ended_with_a_reason CHECK ((state = 'promoted') = (ended_at IS NULL) AND (ended_at IS NULL) = (ending_reason IS NULL))
);
COMMENT ON TABLE state.promotions IS 'Memories that were promoted to `_global`, with the thresholds and what was measured.';
CREATE INDEX promotions_newest ON state.promotions (tenant_id, owner, memory_id DESC);
CALL mnemic.protect('state.promotions');
