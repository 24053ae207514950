-- Vectors, as far as the table's name does not matter; the rest is made in mnemic/db/vectors.py.

-- name: find
-- The table of a model that was used before; no row for a new one.
SELECT table_name, dimensions, halfvec.oid AS halfvec_oid
FROM mnemic.vector_models
JOIN pg_extension ON extname = 'vector'
JOIN pg_type AS halfvec ON typnamespace = extnamespace AND typname = 'halfvec'
WHERE model = %(model)s

-- name: open
-- The table of a model, made on first use, and the type of its vectors.
SELECT table_name, dimensions, halfvec_oid FROM mnemic.open_vectors(%(model)s, %(dimensions)s)

-- name: tables
-- The tables of all models.
SELECT table_name FROM mnemic.vector_models ORDER BY table_name

-- name: mark_backlog
-- Marks memories that were stored without a vector.
INSERT INTO queue.embedding_backlog AS kept (tenant_id, memory_id, last_error)
SELECT %(tenant_id)s, memory_id, %(error)s
FROM unnest(%(ids)s::uuid[]) AS memory_id
ON CONFLICT (tenant_id, memory_id) DO UPDATE
SET last_error = excluded.last_error, attempts = kept.attempts + 1, marked_at = now()

-- name: backlog
-- Marked memories, oldest first, with what is to be embedded.
SELECT memory_id, version, owner, name, content
FROM queue.embedding_backlog
JOIN state.memories USING (tenant_id, memory_id)
ORDER BY marked_at, memory_id
LIMIT %(limit)s

-- name: unchanged
-- Those of these memories that still have this version; they cannot change until the transaction ends.
SELECT memory_id
FROM state.memories JOIN unnest(%(ids)s::uuid[], %(versions)s::int[]) AS seen (memory_id, version)
    USING (memory_id, version)
ORDER BY memory_id
FOR SHARE OF memories

-- name: backlog_size
-- How many memories wait for their vector.
SELECT count(*) AS waiting FROM queue.embedding_backlog

-- name: clear_backlog
-- Takes memories off the list.
DELETE FROM queue.embedding_backlog WHERE memory_id = ANY(%(ids)s::uuid[])

-- name: link_near_duplicates
-- Keeps pairs that look alike, for somebody to decide.
INSERT INTO state.near_duplicates (tenant_id, memory_id, like_id, similarity)
SELECT %(tenant_id)s, memory_id, like_id, similarity
FROM unnest(%(ids)s::uuid[], %(like_ids)s::uuid[], %(similarities)s::real[]) AS pair (memory_id, like_id, similarity)
ON CONFLICT DO NOTHING
