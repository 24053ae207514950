-- Calls by hour (runtime/hourly_metrics.py): every process adds up its calls in memory and adds the sums here in batches, so
-- that the rows of all processes add up. Counts only: no text and no owner. Hours are those of UTC.
CREATE TABLE traces.hourly_metrics (
    tenant_id uuid NOT NULL,
    hour timestamptz NOT NULL CHECK (extract(epoch FROM hour)::bigint % 3600 = 0),
    -- 'retain', 'recall', or 'model': a call of a language model.
    operation text NOT NULL CHECK (char_length(operation) BETWEEN 1 AND 64),
    call_count bigint NOT NULL CHECK (call_count >= 0),
    failed_count bigint NOT NULL CHECK (failed_count >= 0),
    refused_count bigint NOT NULL CHECK (refused_count >= 0),
    weak_count bigint NOT NULL CHECK (weak_count >= 0),
    -- Memories that were stored or recalled.
    memory_count bigint NOT NULL CHECK (memory_count >= 0),
    spent_microdollars bigint NOT NULL CHECK (spent_microdollars >= 0),
    -- Calls by duration: 8 buckets for each power of ten up to 100 s, and one for longer calls.
    durations int[] NOT NULL CHECK (cardinality(durations) = 49),
    -- Recalls by confidence, in steps of 0.05.
    confidences int[] NOT NULL CHECK (cardinality(confidences) = 20),
    PRIMARY KEY (tenant_id, hour, operation)
);
COMMENT ON TABLE traces.hourly_metrics IS 'Calls by hour and operation: counts, durations, confidences of recalls, spend.';
CALL mnemic.protect('traces.hourly_metrics');
-- The rows of the current hour change often: leave room for new versions on their page.
ALTER TABLE traces.hourly_metrics SET (fillfactor = 50);
