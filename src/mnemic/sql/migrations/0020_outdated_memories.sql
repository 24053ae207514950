-- Memories that a newer memory of the same owner outdates (text_analysis/outdating.py). The older one is kept and stays
-- findable; recall ranks the newer one above it. `found` marks come from comparing memories; `outdated` and `current` are
-- decisions of a caller, of which the second one says that the mark is wrong: its row stays, so that it is not found again.
CREATE TABLE state.outdated_memories (
    tenant_id uuid NOT NULL,
    older_id uuid NOT NULL,
    newer_id uuid NOT NULL,
    attribute text CHECK (char_length(attribute) BETWEEN 1 AND 64),
    reason text NOT NULL CHECK (char_length(reason) BETWEEN 1 AND 1024),
    certainty real NOT NULL CHECK (certainty BETWEEN 0 AND 1),
    decision text NOT NULL DEFAULT 'found' CHECK (decision IN ('found', 'outdated', 'current')),
    found_at timestamptz NOT NULL DEFAULT now(),
    decided_at timestamptz,
    PRIMARY KEY (tenant_id, older_id, newer_id),
    FOREIGN KEY (tenant_id, older_id) REFERENCES state.memories ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, newer_id) REFERENCES state.memories ON DELETE CASCADE,
    CONSTRAINT no_self_loop CHECK (older_id <> newer_id),
    CONSTRAINT decided CHECK ((decision = 'found') = (decided_at IS NULL))
);
COMMENT ON TABLE state.outdated_memories IS 'Memories that a newer memory of the same owner outdates.';
CREATE INDEX outdated_memories_newer ON state.outdated_memories (tenant_id, newer_id);
CALL mnemic.protect('state.outdated_memories');

-- The records of memories get the column outdated_by. A view that exists cannot get a column in the middle, so these are
-- dropped, with the functions that return their rows; the definitions create them again.
DROP FUNCTION IF EXISTS mnemic.recall_records(uuid, uuid[]);
DROP VIEW IF EXISTS state.memory_history, state.memory_records;
