-- Metrics of a tenant, and of the queue of all tenants.

-- name: queue
-- One row: the tenant's jobs by state, the age of the oldest waiting one, and the outcomes of the last day.
SELECT
    count(*) FILTER (WHERE state = 'waiting') AS waiting_count,
    count(*) FILTER (WHERE state = 'scheduled') AS scheduled_count,
    count(*) FILTER (WHERE state = 'running') AS running_count,
    (SELECT count(*) FROM queue.finished_jobs
        WHERE finished_jobs.tenant_id = %(tenant_id)s AND state = 'dead') AS dead_count,
    CASE WHEN count(*) FILTER (WHERE state = 'waiting') > 0 THEN greatest(
        extract(epoch FROM clock_timestamp() - min(run_at) FILTER (WHERE state = 'waiting')), 0
    )::double precision END AS oldest_ready_s,
    (SELECT count(*) FROM queue.finished_jobs
        WHERE finished_jobs.tenant_id = %(tenant_id)s
          AND finished_at >= now() - interval '24 hours') AS finished_24h_count,
    (
        SELECT count(*) FROM queue.attempts
        WHERE attempts.tenant_id = %(tenant_id)s
          AND outcome IN ('failed', 'crashed') AND ended_at >= now() - interval '24 hours'
    ) AS retried_24h_count
FROM queue.jobs
WHERE jobs.tenant_id = %(tenant_id)s

-- name: events
-- One row: the last position, the number of events without a position, and the lag of the slowest consumer.
SELECT
    coalesce((SELECT last_position FROM queue.event_logs WHERE tenant_id = %(tenant_id)s), 0) AS last_position,
    (SELECT count(*) FROM queue.event_inbox WHERE event_inbox.tenant_id = %(tenant_id)s) AS unsequenced_count,
    coalesce(
        (SELECT max(last_position - consumers."position") FROM queue.event_consumers AS consumers, queue.event_logs
            WHERE consumers.tenant_id = %(tenant_id)s AND event_logs.tenant_id = %(tenant_id)s), 0
    ) AS consumer_lag

-- name: latency
-- The logged calls of the last 24 hours, by operation.
SELECT operation, call_count, refused_count, p50_ms, p95_ms, p99_ms FROM traces.metrics_24h ORDER BY operation

-- name: awaiting_embedding
-- One row: the size of the tenant's embedding backlog.
SELECT count(*) AS awaiting_embedding_count FROM queue.embedding_backlog
WHERE tenant_id = %(tenant_id)s

-- name: queue_metrics
-- Metrics of the queue of all tenants, one row per value; see mnemic.queue_metrics.
SELECT metric, labels, value FROM mnemic.queue_metrics() ORDER BY metric, labels
