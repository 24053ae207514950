-- How much each owner holds (govern/owner_counts.py), so that lists of owners and statistics cost little.
--
-- No write of a memory touches this table: mnemic.sequence_events notes which owners changed, when it assigns positions to
-- events, and a job counts their rows again. An owner is *changed* while `counted_position` differs from `changed_position`,
-- and *counted* otherwise. NULL in `counted_position` means that it was never counted.
CREATE TABLE traces.owner_counts (
    tenant_id uuid NOT NULL REFERENCES state.tenants,
    -- In the order of bytes, so that all names with one prefix are neighbours in the index.
    owner text COLLATE "C" NOT NULL CHECK (char_length(owner) BETWEEN 1 AND 256),
    -- The last event of the owner: its time and its position.
    last_activity_at timestamptz NOT NULL,
    changed_position bigint NOT NULL DEFAULT 0 CHECK (changed_position >= 0),
    counted_position bigint CHECK (counted_position >= 0),
    counted_at timestamptz,
    memory_count bigint NOT NULL DEFAULT 0 CHECK (memory_count >= 0),
    active_memory_count bigint NOT NULL DEFAULT 0 CHECK (active_memory_count >= 0),
    earlier_version_count bigint NOT NULL DEFAULT 0 CHECK (earlier_version_count >= 0),
    conversation_count bigint NOT NULL DEFAULT 0 CHECK (conversation_count >= 0),
    document_count bigint NOT NULL DEFAULT 0 CHECK (document_count >= 0),
    entity_count bigint NOT NULL DEFAULT 0 CHECK (entity_count >= 0),
    text_bytes bigint NOT NULL DEFAULT 0 CHECK (text_bytes >= 0),
    PRIMARY KEY (tenant_id, owner),
    CONSTRAINT counted_at_a_position CHECK ((counted_at IS NULL) = (counted_position IS NULL))
);
COMMENT ON TABLE traces.owner_counts IS 'How much each owner holds, counted now and then.';
CREATE INDEX owner_counts_memories ON traces.owner_counts (tenant_id, memory_count, owner);
CREATE INDEX owner_counts_activity ON traces.owner_counts (tenant_id, last_activity_at, owner);
CREATE INDEX owner_counts_changed ON traces.owner_counts (tenant_id, owner)
WHERE counted_position IS DISTINCT FROM changed_position;
-- Owners that exist already. The job counts them.
INSERT INTO traces.owner_counts (tenant_id, owner, last_activity_at)
SELECT tenant_id, owner, max(created_at) FROM state.memories GROUP BY tenant_id, owner;
CALL mnemic.protect('traces.owner_counts', 'SELECT');
GRANT UPDATE (
    counted_position, counted_at, memory_count, active_memory_count, earlier_version_count, conversation_count,
    document_count, entity_count, text_bytes
) ON traces.owner_counts TO mnemic_app;
GRANT UPDATE (last_activity_at, changed_position) ON traces.owner_counts TO mnemic_definer;

-- For lists of cancelled jobs. Finished jobs are nearly always done, so most of them are not in it.
CREATE INDEX finished_jobs_cancelled ON queue.finished_jobs (tenant_id, job_id) WHERE state = 'cancelled';

-- For lists of events of some types, newest first.
CREATE INDEX events_type ON queue.events (tenant_id, type, "position");

-- Receipts of erasures, by their id (govern/erase.py).
CREATE INDEX audit_log_receipt ON traces.audit_log (tenant_id, target)
WHERE action IN ('erase_owner', 'archive_owner') AND phase = 'succeeded';

-- mnemic.replay_jobs replaces it.
DROP FUNCTION IF EXISTS mnemic.replay_job(uuid);
