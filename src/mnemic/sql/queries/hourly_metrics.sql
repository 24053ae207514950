-- Calls by hour and operation (runtime/hourly_metrics.py).

-- name: add
-- Adds the counts of a process to the rows of their hours. In a fixed order to avoid deadlocks.
INSERT INTO traces.hourly_metrics AS kept (
    tenant_id, hour, operation, call_count, failed_count, refused_count, weak_count, memory_count, spent_microdollars,
    durations, confidences
)
SELECT
    %(tenant_id)s, hour, operation, call_count, failed_count, refused_count, weak_count, memory_count, spent_microdollars,
    durations, confidences
FROM jsonb_to_recordset(%(rows)s) AS added (
    hour timestamptz, operation text, call_count bigint, failed_count bigint, refused_count bigint, weak_count bigint,
    memory_count bigint, spent_microdollars bigint, durations int[], confidences int[]
)
ORDER BY hour, operation
ON CONFLICT (tenant_id, hour, operation) DO UPDATE
SET call_count = kept.call_count + excluded.call_count,
    failed_count = kept.failed_count + excluded.failed_count,
    refused_count = kept.refused_count + excluded.refused_count,
    weak_count = kept.weak_count + excluded.weak_count,
    memory_count = kept.memory_count + excluded.memory_count,
    spent_microdollars = kept.spent_microdollars + excluded.spent_microdollars,
    durations = ARRAY(
        SELECT earlier + later FROM unnest(kept.durations, excluded.durations) WITH ORDINALITY AS pair (earlier, later, place)
        ORDER BY place
    ),
    confidences = ARRAY(
        SELECT earlier + later FROM unnest(kept.confidences, excluded.confidences) WITH ORDINALITY AS pair (earlier, later, place)
        ORDER BY place
    )

-- name: series
-- The calls of a window by step of time and operation. Arrays are returned as bytes (array_send), those of a step one after
-- the other: adding them up here, number by number, would take most of the time of a call.
SELECT
    date_bin(make_interval(secs => %(step_s)s), hour, %(since)s) AS at, operation, sum(call_count)::bigint AS call_count,
    sum(failed_count)::bigint AS failed_count, sum(refused_count)::bigint AS refused_count,
    sum(weak_count)::bigint AS weak_count, sum(memory_count)::bigint AS memory_count,
    sum(spent_microdollars)::bigint AS spent_microdollars,
    coalesce(string_agg(array_send(durations), '') FILTER (WHERE operation <> 'model'), '') AS durations,
    coalesce(string_agg(array_send(confidences), '') FILTER (WHERE operation = 'recall'), '') AS confidences
FROM traces.hourly_metrics
WHERE tenant_id = %(tenant_id)s AND hour >= %(since)s AND hour < %(until)s
GROUP BY 1, 2

-- name: growth
-- Stored memories by day (of UTC), without the days on which nothing was stored.
SELECT (hour AT TIME ZONE 'UTC')::date AS day, sum(memory_count)::bigint AS stored_count
FROM traces.hourly_metrics
WHERE tenant_id = %(tenant_id)s AND hour >= %(since)s AND operation = 'retain'
GROUP BY 1

-- name: prune
-- Deletes some old hours.
DELETE FROM traces.hourly_metrics
WHERE hourly_metrics.tenant_id = %(tenant_id)s AND (hour, operation) IN (
    SELECT old.hour, old.operation FROM traces.hourly_metrics AS old
    WHERE old.tenant_id = %(tenant_id)s
      AND old.hour < (SELECT mnemic.retention_time()) - make_interval(days => %(keep_days)s)
    ORDER BY old.hour
    LIMIT %(limit)s
)
