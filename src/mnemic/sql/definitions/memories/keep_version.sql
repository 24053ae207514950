-- Numbers the new version of a memory and stores the previous one in state.memory_versions, with its recall count,
-- usefulness and salience at that time. Runs as mnemic_definer because the application may not write history; the tenant's policy still
-- applies. The time is that of the change, not of the transaction, which may have waited for the row: the periods
-- of two versions must not overlap. It never goes back, even if the clock does.
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
        last_retrieved_at, last_injected_at, content_hash, words, branch
    )
    VALUES (
        changed_at, OLD.tenant_id, OLD.memory_id, OLD.version, OLD.owner, OLD.channel, OLD.process, OLD.conversation,
        OLD."position", OLD.role, OLD.name, OLD.content, OLD.category, OLD.tags, OLD.metadata, OLD.source, OLD.provenance,
        OLD.evidence, OLD.confidence, OLD.anchored, OLD.status, OLD.superseded_by, OLD.merged_into, OLD.at, OLD.valid_from,
        OLD.valid_to, OLD.expires_at, OLD.deleted_at, OLD.created_at, OLD.recorded_at, OLD.changed_by, OLD.change_reason,
        OLD.whole_id, OLD.whole_hash, OLD.chunk_index, OLD.chunk_count, OLD.external_id,
        mnemic.usefulness(OLD.usefulness, recalled.useful_count, recalled.not_useful_count),
        mnemic.salience(
            OLD.salience, OLD.category, OLD.conversation, OLD.anchored, OLD.created_at, recalled.retrieval_count,
            recalled.last_retrieved_at, recalled.useful_count, recalled.not_useful_count, recalled.last_useful_at, changed_at
        ),
        OLD.reinforcement_count, coalesce(recalled.retrieval_count, 0), recalled.last_retrieved_at, OLD.last_injected_at,
        OLD.content_hash, OLD.words, OLD.branch
    );
    NEW.version := OLD.version + 1;
    NEW.recorded_at := changed_at;
    RETURN NEW;
END
$$;
CALL mnemic.run_as_definer('mnemic.keep_version()', 'mnemic_definer');

CREATE OR REPLACE TRIGGER keep_version BEFORE UPDATE ON state.memories FOR EACH ROW
WHEN (
    (OLD.channel, OLD.content, OLD.category, OLD.tags, OLD.metadata, OLD.source, OLD.provenance, OLD.evidence,
     OLD.confidence, OLD.anchored, OLD.status, OLD.superseded_by, OLD.merged_into, OLD.at, OLD.valid_from,
     OLD.valid_to, OLD.expires_at, OLD.deleted_at)
    IS DISTINCT FROM
    (NEW.channel, NEW.content, NEW.category, NEW.tags, NEW.metadata, NEW.source, NEW.provenance, NEW.evidence,
     NEW.confidence, NEW.anchored, NEW.status, NEW.superseded_by, NEW.merged_into, NEW.at, NEW.valid_from,
     NEW.valid_to, NEW.expires_at, NEW.deleted_at)
)
EXECUTE FUNCTION mnemic.keep_version();
