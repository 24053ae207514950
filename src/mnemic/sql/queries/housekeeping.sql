-- Periodic maintenance of a tenant's rows and of logs.

-- name: expired
-- Locks some expired memories, which recall ignores already; of a long text its first chunk. Locked rows, and memories whose
-- archiving was undone, are left out.
SELECT memories.memory_id, memories.owner, coalesce(memories.chunk_count, 1) AS memory_count
FROM state.memories
WHERE memories.tenant_id = %(tenant_id)s AND expires_at IS NOT NULL AND expires_at <= now()
  AND status IN ('active', 'pending_review') AND deleted_at IS NULL AND coalesce(chunk_index, 0) = 0
  AND NOT EXISTS (
      SELECT FROM state.memory_changes AS undone
      WHERE undone.tenant_id = %(tenant_id)s AND undone.memory_id = memories.memory_id
        AND undone.state = 'undone' AND undone.kind = 'archive' AND undone.version_after = memories.version - 1
  )
ORDER BY expires_at
LIMIT %(limit)s
FOR UPDATE SKIP LOCKED

-- name: faint
-- Locks some memories of low salience that were not used for long; of a long text its first chunk, if all its chunks qualify.
-- Never anchored ones, turns, documents or goals, nor memories whose archiving was undone. The limit of salience is that of the
-- index memories_faint.
SELECT faint.memory_id, faint.owner, coalesce(faint.chunk_count, 1) AS memory_count
FROM state.memories AS faint
WHERE faint.tenant_id = %(tenant_id)s
  AND salience < 0.1 AND NOT anchored AND status = 'active' AND deleted_at IS NULL
  AND conversation IS NULL AND category NOT IN ('episodic', 'reference', 'prospective') AND coalesce(chunk_index, 0) = 0
  AND coalesce(
      greatest(
          (SELECT last_retrieved_at FROM state.recall_counts
              WHERE recall_counts.tenant_id = %(tenant_id)s AND recall_counts.memory_id = faint.memory_id),
          last_injected_at
      ),
      created_at
  ) < (SELECT mnemic.retention_time()) - make_interval(days => %(unused_days)s)
  AND NOT EXISTS (
      SELECT FROM state.memories AS chunk
      LEFT JOIN state.recall_counts AS recalled
          ON recalled.tenant_id = %(tenant_id)s AND recalled.memory_id = chunk.memory_id
      WHERE chunk.tenant_id = %(tenant_id)s
        AND chunk.whole_id = faint.whole_id AND chunk.status = 'active' AND chunk.deleted_at IS NULL
        AND (
            chunk.salience >= 0.1 OR chunk.anchored
            OR coalesce(greatest(recalled.last_retrieved_at, chunk.last_injected_at), chunk.created_at)
                >= (SELECT mnemic.retention_time()) - make_interval(days => %(unused_days)s)
        )
  )
  AND NOT EXISTS (
      SELECT FROM state.memory_changes AS undone
      WHERE undone.tenant_id = %(tenant_id)s AND undone.memory_id = faint.memory_id
        AND undone.state = 'undone' AND undone.kind = 'archive' AND undone.version_after = faint.version - 1
  )
ORDER BY memory_id
LIMIT %(limit)s
FOR UPDATE SKIP LOCKED

-- name: archive_conversations
-- Marks some conversations as archived that had no turn for long. Their turns are recalled as before.
UPDATE state.conversations
SET archived_at = now()
FROM (
    SELECT tenant_id, owner, conversation FROM state.conversations
    WHERE conversations.tenant_id = %(tenant_id)s
      AND archived_at IS NULL AND last_turn_at < (SELECT mnemic.retention_time()) - make_interval(days => %(silent_days)s)
    ORDER BY owner, conversation
    LIMIT %(limit)s
    FOR UPDATE SKIP LOCKED
) AS silent
WHERE conversations.tenant_id = %(tenant_id)s
  AND conversations.tenant_id = silent.tenant_id AND conversations.owner = silent.owner
  AND conversations.conversation = silent.conversation

-- name: make_log_days
-- Creates the missing partitions of the memory log for today and the days ahead.
SELECT mnemic.make_log_partitions(current_date, %(days)s) AS made

-- name: drop_old_logs
-- Drops the partitions of old days, for all tenants; returns how many.
SELECT mnemic.drop_old_logs(%(keep_days)s) AS dropped

-- name: prune_jobs
-- Deletes some jobs that ended long ago, of all tenants; returns how many.
SELECT mnemic.prune_jobs(%(keep_days)s, %(limit)s) AS pruned

-- name: take_snapshots
-- Stores the current rows of the overview views (definitions/views/tenant_summary.sql).
INSERT INTO traces.snapshots (tenant_id, name, rows)
SELECT %(tenant_id)s::uuid, 'tenant_summary', coalesce(jsonb_agg(shown), '[]') FROM traces.tenant_summary AS shown
UNION ALL
SELECT %(tenant_id)s::uuid, 'metrics_24h', coalesce(jsonb_agg(shown ORDER BY operation), '[]') FROM traces.metrics_24h AS shown
UNION ALL
SELECT %(tenant_id)s::uuid, 'stale_active', coalesce(jsonb_agg(shown ORDER BY category), '[]') FROM traces.stale_active AS shown
UNION ALL
SELECT %(tenant_id)s::uuid, 'dead_xrefs', coalesce(jsonb_agg(shown ORDER BY kind), '[]') FROM traces.dead_xrefs AS shown
UNION ALL
SELECT %(tenant_id)s::uuid, 'growth_7d', coalesce(jsonb_agg(shown ORDER BY day), '[]') FROM traces.growth_7d AS shown
ON CONFLICT (tenant_id, name) DO UPDATE SET rows = excluded.rows, taken_at = excluded.taken_at

-- name: snapshots
-- The stored rows of the overview views.
SELECT name, rows, taken_at FROM traces.snapshots WHERE tenant_id = %(tenant_id)s ORDER BY name
