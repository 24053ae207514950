-- How often memories were recalled, in a table of its own.
--
-- Every recalled memory is counted. In the memories' own rows, which are wide and have a dozen indexes, that took the
-- server 6 to 10 times as long, beside the recalls of others, and left a dead copy of the whole row each time. Here an
-- update touches no index and fits into the same page: `fillfactor` leaves room for it.

CREATE TABLE state.recall_counts (
    tenant_id uuid NOT NULL,
    memory_id uuid NOT NULL,
    retrieval_count int NOT NULL CHECK (retrieval_count >= 0),
    last_retrieved_at timestamptz,
    PRIMARY KEY (tenant_id, memory_id),
    FOREIGN KEY (tenant_id, memory_id) REFERENCES state.memories ON DELETE CASCADE
) WITH (fillfactor = 70);
COMMENT ON TABLE state.recall_counts IS 'How often memories were recalled, and when last; no row for those that never were.';

-- What was counted before. The migrator owns the table, but its policy holds for owners, too.
ALTER TABLE state.memories NO FORCE ROW LEVEL SECURITY;
INSERT INTO state.recall_counts (tenant_id, memory_id, retrieval_count, last_retrieved_at)
SELECT tenant_id, memory_id, retrieval_count, last_retrieved_at
FROM state.memories
WHERE retrieval_count > 0 OR last_retrieved_at IS NOT NULL;
ALTER TABLE state.memories FORCE ROW LEVEL SECURITY;

-- Counts go with their memories, and not otherwise.
CALL mnemic.protect('state.recall_counts', 'SELECT, INSERT');
GRANT UPDATE (retrieval_count, last_retrieved_at) ON state.recall_counts TO mnemic_app;

-- The views of before (0002, 0017), with the counts from where they are now.
CREATE OR REPLACE VIEW state.memory_records WITH (security_invoker = true) AS
SELECT
    memory_id, version, owner, channel, process, conversation, "position", role, name, content, category, tags, metadata,
    source, provenance, evidence, confidence, anchored, status, superseded_by, merged_into, at, valid_from, valid_to,
    expires_at, deleted_at, created_at, recorded_at, changed_by, change_reason, whole_id, chunk_index, chunk_count,
    external_id, usefulness, salience, reinforcement_count, coalesce(counts.retrieval_count, 0) AS retrieval_count,
    counts.last_retrieved_at, last_injected_at
FROM state.memories LEFT JOIN state.recall_counts AS counts USING (tenant_id, memory_id);

CREATE OR REPLACE VIEW state.memory_history WITH (security_invoker = true) AS
SELECT
    memory_id, version, owner, channel, process, conversation, "position", role, name, content, category, tags, metadata,
    source, provenance, evidence, confidence, anchored, status, superseded_by, merged_into, at, valid_from, valid_to,
    expires_at, deleted_at, created_at, recorded_at, changed_by, change_reason, whole_id, chunk_index, chunk_count,
    external_id, usefulness, salience, reinforcement_count, retrieval_count, last_retrieved_at,
    last_injected_at,
    known_until
FROM state.memory_versions
UNION ALL
SELECT
    memory_id, version, owner, channel, process, conversation, "position", role, name, content, category, tags, metadata,
    source, provenance, evidence, confidence, anchored, status, superseded_by, merged_into, at, valid_from, valid_to,
    expires_at, deleted_at, created_at, recorded_at, changed_by, change_reason, whole_id, chunk_index, chunk_count,
    external_id, usefulness, salience, reinforcement_count, retrieval_count, last_retrieved_at,
    last_injected_at,
    NULL
FROM state.memory_records;

CREATE OR REPLACE VIEW traces.stale_active WITH (security_invoker = true) AS
SELECT
    category,
    count(*) AS active_count,
    count(*) FILTER (WHERE used_at < now() - interval '30 days') AS unused_30d_count,
    count(*) FILTER (WHERE used_at < now() - interval '90 days') AS unused_90d_count,
    count(*) FILTER (WHERE valid_to < now()) AS no_longer_valid_count,
    count(*) FILTER (WHERE expires_at < now()) AS expired_count
FROM (
    SELECT category, valid_to, expires_at, coalesce(counts.last_retrieved_at, created_at) AS used_at
    FROM state.memories LEFT JOIN state.recall_counts AS counts USING (tenant_id, memory_id)
    WHERE status = 'active' AND deleted_at IS NULL
) AS active
GROUP BY category;

-- As before (0002). An earlier state goes on saying how often the memory had been recalled by then.
CREATE OR REPLACE FUNCTION mnemic.keep_version() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    changed_at timestamptz := greatest(clock_timestamp(), OLD.recorded_at + interval '1 microsecond');
    recalled state.recall_counts;
BEGIN
    SELECT * INTO recalled FROM state.recall_counts AS counts
    WHERE counts.tenant_id = OLD.tenant_id AND counts.memory_id = OLD.memory_id;
    INSERT INTO state.memory_versions (
        known_until, tenant_id, memory_id, version, owner, channel, process, conversation, "position", role, name, content,
        category, tags, metadata, source, provenance, evidence, confidence, anchored, status, superseded_by, merged_into, at,
        valid_from, valid_to, expires_at, deleted_at, created_at, recorded_at, changed_by, change_reason, whole_id,
        whole_hash, chunk_index, chunk_count, external_id, usefulness, salience, reinforcement_count, retrieval_count,
        last_retrieved_at, last_injected_at, content_hash, words
    )
    VALUES (
        changed_at, OLD.tenant_id, OLD.memory_id, OLD.version, OLD.owner, OLD.channel, OLD.process, OLD.conversation,
        OLD."position", OLD.role, OLD.name, OLD.content, OLD.category, OLD.tags, OLD.metadata, OLD.source, OLD.provenance,
        OLD.evidence, OLD.confidence, OLD.anchored, OLD.status, OLD.superseded_by, OLD.merged_into, OLD.at, OLD.valid_from,
        OLD.valid_to, OLD.expires_at, OLD.deleted_at, OLD.created_at, OLD.recorded_at, OLD.changed_by, OLD.change_reason,
        OLD.whole_id, OLD.whole_hash, OLD.chunk_index, OLD.chunk_count, OLD.external_id, OLD.usefulness, OLD.salience,
        OLD.reinforcement_count, coalesce(recalled.retrieval_count, 0), recalled.last_retrieved_at, OLD.last_injected_at,
        OLD.content_hash, OLD.words
    );
    NEW.version := OLD.version + 1;
    NEW.recorded_at := changed_at;
    RETURN NEW;
END
$$;

ALTER TABLE state.memories DROP COLUMN retrieval_count, DROP COLUMN last_retrieved_at;
