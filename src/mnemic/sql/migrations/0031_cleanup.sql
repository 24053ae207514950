-- Review and cleanup (curation/): what waits for a decision of an owner, and what could be archived.
--
-- Pairs of memories do not name their owner, so a list for one owner would read the pairs of all. `review_owner` is the owner
-- of both memories; it is NULL if one of them is a turn or a part of a longer text, about which nothing is decided. The trigger
-- `set_review_owner` sets it, whatever inserts the row. It is not called `owner`: exports from before this migration do not
-- have it, and the rows belong to their memories.
ALTER TABLE state.near_duplicates ADD COLUMN review_owner text;
ALTER TABLE state.outdated_memories ADD COLUMN review_owner text;
CALL mnemic.withhold_statistics('state.near_duplicates');
CALL mnemic.withhold_statistics('state.outdated_memories');
ALTER TABLE state.near_duplicates NO FORCE ROW LEVEL SECURITY;
ALTER TABLE state.outdated_memories NO FORCE ROW LEVEL SECURITY;
ALTER TABLE state.memories NO FORCE ROW LEVEL SECURITY;
UPDATE state.near_duplicates SET review_owner = one.owner
FROM state.memories AS one, state.memories AS other
WHERE one.tenant_id = near_duplicates.tenant_id AND one.memory_id = near_duplicates.memory_id
  AND other.tenant_id = near_duplicates.tenant_id AND other.memory_id = near_duplicates.like_id
  AND one.conversation IS NULL AND one.whole_id IS NULL AND other.conversation IS NULL AND other.whole_id IS NULL;
UPDATE state.outdated_memories SET review_owner = one.owner
FROM state.memories AS one, state.memories AS other
WHERE one.tenant_id = outdated_memories.tenant_id AND one.memory_id = outdated_memories.newer_id
  AND other.tenant_id = outdated_memories.tenant_id AND other.memory_id = outdated_memories.older_id
  AND one.conversation IS NULL AND one.whole_id IS NULL AND other.conversation IS NULL AND other.whole_id IS NULL;
ALTER TABLE state.memories FORCE ROW LEVEL SECURITY;
ALTER TABLE state.outdated_memories FORCE ROW LEVEL SECURITY;
ALTER TABLE state.near_duplicates FORCE ROW LEVEL SECURITY;

CREATE INDEX near_duplicates_waiting ON state.near_duplicates (tenant_id, review_owner, memory_id, like_id)
WHERE decision = 'pending';
CREATE INDEX outdated_memories_waiting ON state.outdated_memories (tenant_id, review_owner, newer_id, older_id)
WHERE decision = 'found';
CREATE INDEX memories_pending_review ON state.memories (tenant_id, owner, memory_id)
WHERE status = 'pending_review' AND deleted_at IS NULL;
CREATE INDEX changesets_staged ON state.changesets (tenant_id, owner, changeset_id) WHERE state = 'staged';

-- Memories whose references may lead to nothing: those with evidence, and those that were replaced by a forgotten one.
CREATE INDEX memories_evidenced ON state.memories (tenant_id, owner, memory_id)
WHERE evidence <> '{}' AND deleted_at IS NULL;
CREATE INDEX memories_forgotten ON state.memories (tenant_id, owner, memory_id) WHERE deleted_at IS NOT NULL;

-- How many memories of an owner each kind of cleanup found when they were last counted. Counting reads all memories.
CREATE TABLE traces.cleanup_counts (
    tenant_id uuid NOT NULL REFERENCES state.tenants,
    owner text NOT NULL CHECK (char_length(owner) BETWEEN 1 AND 256),
    kind text NOT NULL CHECK (kind IN ('stale', 'expired', 'never_recalled', 'dead_links')),
    memory_count int NOT NULL CHECK (memory_count >= 0),
    is_complete boolean NOT NULL,
    counted_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, owner, kind)
);
COMMENT ON TABLE traces.cleanup_counts IS 'How many memories each kind of cleanup found when they were last counted.';
CALL mnemic.protect('traces.cleanup_counts');

-- Removing a reference that leads to nothing is a kind of change of its own.
ALTER TABLE state.memory_changes
    DROP CONSTRAINT memory_changes_kind_check,
    ADD CONSTRAINT memory_changes_kind_check CHECK (
        kind IN (
            'add', 'promote', 'demote', 'archive', 'prune', 'merge', 'supersede', 'quarantine', 'restore', 'move', 'unlink'
        )
    );
