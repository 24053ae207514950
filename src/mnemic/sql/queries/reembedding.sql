-- Changing the embedding model of a tenant; see definitions/embeddings and
-- docs/adr/0014-changing-the-embedding-model.md.

-- name: model
-- The model that serves the tenant, and the one that will replace it; no row before the first vector.
SELECT model, next_model, is_listed, started_at, switched_at FROM vectors.tenant_models
WHERE tenant_id = %(tenant_id)s

-- name: adopt
-- The model of the tenant's vectors from before it was recorded; NULL if there are none.
SELECT mnemic.set_first_model(NULL, NULL) AS model

-- name: job
-- The unfinished job that changes the model. Each state has its own index, so that waiting jobs of other types are
-- not read.
SELECT job_id FROM queue.jobs
WHERE jobs.tenant_id = %(tenant_id)s AND state = 'running' AND type = %(type)s AND payload ->> 'model' = %(model)s
UNION ALL
SELECT job_id FROM queue.jobs
WHERE jobs.tenant_id = %(tenant_id)s AND state = 'waiting' AND type = %(type)s AND payload ->> 'model' = %(model)s
UNION ALL
SELECT job_id FROM queue.jobs
WHERE jobs.tenant_id = %(tenant_id)s
  AND state = 'scheduled' AND type = %(type)s AND payload ->> 'model' = %(model)s
LIMIT 1

-- name: begin
-- Begins the change to a model whose table exists; returns whether there is something to do.
SELECT mnemic.begin_model_change(%(model)s) AS is_changing

-- name: list
-- Fills the re-embedding backlog, unless that was done.
SELECT mnemic.fill_reembedding_backlog(%(model)s)

-- name: mark
-- Adds memories that were stored during a change to the re-embedding backlog.
INSERT INTO queue.reembedding (tenant_id, memory_id)
SELECT %(tenant_id)s, memory_id FROM unnest(%(ids)s::uuid[]) AS memory_id
ON CONFLICT (tenant_id, memory_id) DO UPDATE SET attempts = 0, last_error = NULL, gave_up_at = NULL

-- name: batch
-- A batch of the re-embedding backlog after a memory id, with the texts to embed. Starting after the last id skips
-- dead index entries.
SELECT listed.memory_id, version, memories.owner, name, content, coalesce(chunk.context, '') AS context
FROM (
    SELECT memory_id FROM queue.reembedding
    WHERE reembedding.tenant_id = %(tenant_id)s AND memory_id > %(after)s AND gave_up_at IS NULL
    ORDER BY memory_id
    LIMIT %(limit)s
) AS listed
CROSS JOIN LATERAL (
    SELECT version, owner, name, content FROM state.memories
    WHERE memories.tenant_id = %(tenant_id)s AND memories.memory_id = listed.memory_id OFFSET 0
) AS memories
LEFT JOIN LATERAL (
    SELECT stored.context FROM state.document_chunks AS stored
    WHERE stored.tenant_id = %(tenant_id)s AND stored.memory_id = listed.memory_id
    ORDER BY stored.document_id, stored.occurrence
    LIMIT 1
) AS chunk ON true
ORDER BY listed.memory_id

-- name: clear
-- Removes memories from the re-embedding backlog.
DELETE FROM queue.reembedding WHERE tenant_id = %(tenant_id)s AND memory_id = ANY(%(ids)s::uuid[])

-- name: refuse
-- Counts an attempt at texts that the next model refused; gives up after the last one.
UPDATE queue.reembedding AS listed
SET attempts = listed.attempts + 1, last_error = refused.error,
    gave_up_at = CASE WHEN listed.attempts + 1 >= %(attempts_max)s THEN now() END
FROM unnest(%(ids)s::uuid[], %(errors)s::text[]) AS refused (memory_id, error)
WHERE listed.tenant_id = %(tenant_id)s AND listed.memory_id = refused.memory_id

-- name: waiting
-- The size of the re-embedding backlog, and the number of refused texts.
SELECT
    count(*) FILTER (WHERE gave_up_at IS NULL) AS waiting_count,
    count(*) FILTER (WHERE gave_up_at IS NOT NULL) AS refused_count
FROM queue.reembedding
WHERE tenant_id = %(tenant_id)s

-- name: memory_count
-- How many memories the tenant has.
SELECT count(*) AS memory_count FROM state.memories
WHERE tenant_id = %(tenant_id)s

-- name: switch
-- Makes the next model the serving one if it lacks few enough memories; returns whether it did.
SELECT mnemic.switch_model(%(model)s, %(lacking_most)s) AS is_switched

-- name: other_models
-- Models that the tenant neither uses nor changes to.
SELECT known.model
FROM mnemic.vector_models AS known
WHERE NOT EXISTS (SELECT FROM vectors.tenant_models
    WHERE tenant_id = %(tenant_id)s AND known.model IN (model, next_model))
ORDER BY known.model

-- name: drop
-- Drops the table of an unused model; returns whether it is gone.
SELECT mnemic.drop_vectors(%(model)s) AS is_gone
