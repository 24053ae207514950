-- Vectors. Statements that contain the name of a table are composed in mnemic/db/vectors.py.

-- name: find
-- The table of a known model; no row for a new one.
SELECT table_name, dimensions FROM mnemic.vector_models WHERE model = %(model)s

-- name: open
-- The table of a model, created on first use.
SELECT table_name, dimensions FROM mnemic.open_vector_table(%(model)s, %(dimensions)s)

-- name: in_use
-- The vector tables that serve the tenant, locked until the transaction ends; no row before the first vector.
SELECT model, table_name, dimensions, next_table_name FROM mnemic.vector_tables_in_use()

-- name: adopt
-- Records which model serves the tenant, if none does yet.
SELECT mnemic.set_first_model(%(model)s, %(dimensions)s) AS model

-- name: tables
-- The tables of all models.
SELECT table_name FROM mnemic.vector_models ORDER BY table_name

-- name: mark_backlog
-- Adds memories that were stored without a vector to the embedding backlog.
INSERT INTO queue.embedding_backlog AS kept (tenant_id, memory_id, last_error)
SELECT %(tenant_id)s, memory_id, %(error)s
FROM unnest(%(ids)s::uuid[]) AS memory_id
ON CONFLICT (tenant_id, memory_id) DO UPDATE
SET last_error = excluded.last_error, attempts = kept.attempts + 1, marked_at = now(), gave_up_at = NULL

-- name: backlog
-- The embedding backlog without those given up, oldest first, with the text to embed: the content, the speaker, and
-- the context of a chunk.
SELECT memory_id, version, memories.owner, name, content, coalesce(context, '') AS context
FROM queue.embedding_backlog AS waiting
JOIN state.memories USING (tenant_id, memory_id)
LEFT JOIN LATERAL (
    SELECT chunk.context FROM state.document_chunks AS chunk
    WHERE chunk.tenant_id = %(tenant_id)s AND chunk.memory_id = waiting.memory_id
    ORDER BY chunk.document_id, chunk.occurrence
    LIMIT 1
) AS chunk ON true
WHERE waiting.tenant_id = %(tenant_id)s AND gave_up_at IS NULL
ORDER BY marked_at, memory_id
LIMIT %(limit)s

-- name: refuse_backlog
-- Counts an attempt at texts that the embedder refused; gives up after the last one. Others come first from then
-- on.
UPDATE queue.embedding_backlog AS waiting
SET attempts = waiting.attempts + 1, last_error = refused.error, marked_at = clock_timestamp(),
    gave_up_at = CASE WHEN waiting.attempts + 1 >= %(attempts_max)s THEN now() END
FROM unnest(%(ids)s::uuid[], %(errors)s::text[]) AS refused (memory_id, error)
WHERE waiting.tenant_id = %(tenant_id)s AND waiting.memory_id = refused.memory_id

-- name: unchanged
-- Those of these memories that still have this version, locked until the transaction ends.
SELECT memory_id
FROM state.memories JOIN unnest(%(ids)s::uuid[], %(versions)s::int[]) AS seen (memory_id, version)
    USING (memory_id, version)
WHERE memories.tenant_id = %(tenant_id)s
ORDER BY memory_id
FOR SHARE OF memories

-- name: backlog_size
-- The size of the embedding backlog, and the number of texts given up.
SELECT
    count(*) FILTER (WHERE gave_up_at IS NULL) AS waiting,
    count(*) FILTER (WHERE gave_up_at IS NOT NULL) AS refused
FROM queue.embedding_backlog
WHERE tenant_id = %(tenant_id)s

-- name: has_backlog_job
-- Whether a job for the backlog is waiting or scheduled; a running one may be about to end.
SELECT EXISTS (
    SELECT FROM queue.jobs
    WHERE jobs.tenant_id = %(tenant_id)s AND type = 'embeddings.backlog' AND state = 'waiting'
    UNION ALL
    SELECT FROM queue.jobs
    WHERE jobs.tenant_id = %(tenant_id)s AND type = 'embeddings.backlog' AND state = 'scheduled'
) AS has_job

-- name: clear_backlog
-- Removes memories from the embedding backlog.
DELETE FROM queue.embedding_backlog WHERE tenant_id = %(tenant_id)s AND memory_id = ANY(%(ids)s::uuid[])
