-- How a tenant, and the machinery of all tenants, are doing.

-- name: queue
-- One row: the tenant's jobs by state, how long the oldest one has waited, and what came of those of the last day.
SELECT
    count(*) FILTER (WHERE state = 'waiting') AS waiting_count,
    count(*) FILTER (WHERE state = 'scheduled') AS scheduled_count,
    count(*) FILTER (WHERE state = 'running') AS running_count,
    (SELECT count(*) FROM queue.finished_jobs WHERE state = 'dead') AS dead_count,
    CASE WHEN count(*) FILTER (WHERE state = 'waiting') > 0 THEN greatest(
        extract(epoch FROM clock_timestamp() - min(run_at) FILTER (WHERE state = 'waiting')), 0
    )::double precision END AS oldest_ready_s,
    (SELECT count(*) FROM queue.finished_jobs WHERE finished_at >= now() - interval '24 hours') AS finished_24h_count,
    (
        SELECT count(*) FROM queue.attempts
        WHERE outcome IN ('failed', 'crashed') AND ended_at >= now() - interval '24 hours'
    ) AS retried_24h_count
FROM queue.jobs

-- name: events
-- One row: how far the tenant's events are numbered, how many are not yet, how far the slowest consumer is behind.
SELECT
    coalesce((SELECT last_position FROM queue.event_logs), 0) AS last_position,
    (SELECT count(*) FROM queue.event_inbox) AS unsequenced_count,
    coalesce(
        (SELECT max(last_position - consumers."position") FROM queue.event_consumers AS consumers, queue.event_logs), 0
    ) AS consumer_lag

-- name: latency
-- The calls of the last 24 hours that were logged, by operation.
SELECT operation, call_count, refused_count, p50_ms, p95_ms, p99_ms FROM traces.metrics_24h ORDER BY operation

-- name: awaiting_embedding
-- One row: how many of the tenant's memories wait for their vector.
SELECT count(*) AS awaiting_embedding_count FROM queue.embedding_backlog

-- name: working
-- What the machinery of all tenants is doing, value by value; see migration 0017.
SELECT metric, labels, value FROM mnemic.queue_metrics() ORDER BY metric, labels
