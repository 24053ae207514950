-- Vectors, as far as the table's name does not matter; the rest is made in mnemic/db/vectors.py.

-- name: find
-- The table of a model that was used before; no row for a new one.
SELECT table_name, dimensions FROM mnemic.vector_models WHERE model = %(model)s

-- name: open
-- The table of a model, made on first use.
SELECT table_name, dimensions FROM mnemic.open_vector_table(%(model)s, %(dimensions)s)

-- name: in_use
-- The vectors that serve the tenant, until the transaction ends; no row before the first one.
SELECT model, table_name, dimensions, next_table_name FROM mnemic.vector_tables_in_use()

-- name: adopt
-- Says which model serves the tenant, if nothing does yet.
SELECT mnemic.set_first_model(%(model)s, %(dimensions)s) AS model

-- name: tables
-- The tables of all models.
SELECT table_name FROM mnemic.vector_models ORDER BY table_name

-- name: mark_backlog
-- Marks memories that were stored without a vector.
INSERT INTO queue.embedding_backlog AS kept (tenant_id, memory_id, last_error)
SELECT %(tenant_id)s, memory_id, %(error)s
FROM unnest(%(ids)s::uuid[]) AS memory_id
ON CONFLICT (tenant_id, memory_id) DO UPDATE
SET last_error = excluded.last_error, attempts = kept.attempts + 1, marked_at = now(), gave_up_at = NULL

-- name: backlog
-- Marked memories that were not given up, oldest first, with what is to be embedded: the words, who said them,
-- and what stands before them if they are a chunk of a document.
SELECT memory_id, version, memories.owner, name, content, coalesce(context, '') AS context
FROM queue.embedding_backlog AS waiting
JOIN state.memories USING (tenant_id, memory_id)
LEFT JOIN LATERAL (
    SELECT chunk.context FROM state.document_chunks AS chunk
    WHERE chunk.memory_id = waiting.memory_id
    ORDER BY chunk.document_id, chunk.occurrence
    LIMIT 1
) AS chunk ON true
WHERE gave_up_at IS NULL
ORDER BY marked_at, memory_id
LIMIT %(limit)s

-- name: refuse_backlog
-- Counts an attempt at texts that the embedder refused; after the last one they wait no longer. The others come
-- first from now on.
UPDATE queue.embedding_backlog AS waiting
SET attempts = waiting.attempts + 1, last_error = refused.error, marked_at = clock_timestamp(),
    gave_up_at = CASE WHEN waiting.attempts + 1 >= %(attempts_max)s THEN now() END
FROM unnest(%(ids)s::uuid[], %(errors)s::text[]) AS refused (memory_id, error)
WHERE waiting.memory_id = refused.memory_id

-- name: unchanged
-- Those of these memories that still have this version; they cannot change until the transaction ends.
SELECT memory_id
FROM state.memories JOIN unnest(%(ids)s::uuid[], %(versions)s::int[]) AS seen (memory_id, version)
    USING (memory_id, version)
ORDER BY memory_id
FOR SHARE OF memories

-- name: backlog_size
-- How many memories wait for their vector, and how many the embedder refused for good.
SELECT
    count(*) FILTER (WHERE gave_up_at IS NULL) AS waiting,
    count(*) FILTER (WHERE gave_up_at IS NOT NULL) AS refused
FROM queue.embedding_backlog

-- name: has_backlog_job
-- Whether somebody will look at the backlog anyway; one who is just looking at it may be about to end.
SELECT EXISTS (
    SELECT FROM queue.jobs WHERE type = 'embeddings.backlog' AND state = 'waiting'
    UNION ALL
    SELECT FROM queue.jobs WHERE type = 'embeddings.backlog' AND state = 'scheduled'
) AS has_job

-- name: clear_backlog
-- Takes memories off the list.
DELETE FROM queue.embedding_backlog WHERE memory_id = ANY(%(ids)s::uuid[])
