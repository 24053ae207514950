-- Changing the embedding model of a tenant; see migration 0018 and the docs on decision 14.

-- name: model
-- Which model serves the tenant, and which one is being changed to; no row before the first vector.
SELECT model, next_model, is_listed, started_at, switched_at FROM vectors.tenant_models

-- name: adopt
-- The model that a tenant has vectors of from before this was kept; NULL if it has none at all.
SELECT mnemic.set_first_model(NULL, NULL) AS model

-- name: job
-- The job that changes the model, as long as it has not ended. Each state has an index of its own, so that the
-- many jobs of other types which wait are not looked at.
SELECT job_id FROM queue.jobs
WHERE state = 'running' AND type = %(type)s AND payload ->> 'model' = %(model)s
UNION ALL
SELECT job_id FROM queue.jobs
WHERE state = 'waiting' AND type = %(type)s AND payload ->> 'model' = %(model)s
UNION ALL
SELECT job_id FROM queue.jobs
WHERE state = 'scheduled' AND type = %(type)s AND payload ->> 'model' = %(model)s
LIMIT 1

-- name: begin
-- Begins the change to a model whose table is there; returns whether there is something to do.
SELECT mnemic.begin_model_change(%(model)s) AS is_changing

-- name: list
-- Lists what has to be embedded anew, unless that was done.
SELECT mnemic.fill_reembedding_backlog(%(model)s)

-- name: mark
-- Marks memories that were stored during a change: the next model lacks them.
INSERT INTO queue.reembedding (tenant_id, memory_id)
SELECT %(tenant_id)s, memory_id FROM unnest(%(ids)s::uuid[]) AS memory_id
ON CONFLICT (tenant_id, memory_id) DO UPDATE SET attempts = 0, last_error = NULL, gave_up_at = NULL

-- name: batch
-- What the next model lacks, from a memory on, with what is to be embedded. Deleted entries stay in an index for a
-- while: going on from the last one leaves them behind.
SELECT listed.memory_id, version, memories.owner, name, content, coalesce(chunk.context, '') AS context
FROM (
    SELECT memory_id FROM queue.reembedding
    WHERE memory_id > %(after)s AND gave_up_at IS NULL
    ORDER BY memory_id
    LIMIT %(limit)s
) AS listed
CROSS JOIN LATERAL (
    SELECT version, owner, name, content FROM state.memories WHERE memories.memory_id = listed.memory_id OFFSET 0
) AS memories
LEFT JOIN LATERAL (
    SELECT stored.context FROM state.document_chunks AS stored
    WHERE stored.memory_id = listed.memory_id
    ORDER BY stored.document_id, stored.occurrence
    LIMIT 1
) AS chunk ON true
ORDER BY listed.memory_id

-- name: clear
-- Takes memories off the list.
DELETE FROM queue.reembedding WHERE memory_id = ANY(%(ids)s::uuid[])

-- name: refuse
-- Counts an attempt at texts that the next model refused; after the last one nothing waits for them.
UPDATE queue.reembedding AS listed
SET attempts = listed.attempts + 1, last_error = refused.error,
    gave_up_at = CASE WHEN listed.attempts + 1 >= %(attempts_max)s THEN now() END
FROM unnest(%(ids)s::uuid[], %(errors)s::text[]) AS refused (memory_id, error)
WHERE listed.memory_id = refused.memory_id

-- name: waiting
-- How much the next model lacks, and how much it refused.
SELECT
    count(*) FILTER (WHERE gave_up_at IS NULL) AS waiting_count,
    count(*) FILTER (WHERE gave_up_at IS NOT NULL) AS refused_count
FROM queue.reembedding

-- name: memory_count
-- How many memories the tenant has.
SELECT count(*) AS memory_count FROM state.memories

-- name: switch
-- Lets the next model serve if it lacks few enough memories; returns whether it does.
SELECT mnemic.switch_model(%(model)s, %(lacking_most)s) AS is_switched

-- name: other_models
-- Models that neither serve the tenant nor are being changed to.
SELECT known.model
FROM mnemic.vector_models AS known
WHERE NOT EXISTS (SELECT FROM vectors.tenant_models WHERE known.model IN (model, next_model))
ORDER BY known.model

-- name: drop
-- Drops the table of a model that nobody uses any more; returns whether it is gone.
SELECT mnemic.drop_vectors(%(model)s) AS is_gone
