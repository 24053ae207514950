-- The reading side. Filters are mnemic.recall_filter; see migration 0010.

-- name: terms
-- What must be known about a query before searching; see mnemic.recall_terms.
SELECT known.*
FROM mnemic.authenticate_tenant(%(tenant_id)s, %(signature)s::text) AS entered (tenant_id)
CROSS JOIN LATERAL mnemic.recall_terms(
    entered.tenant_id, %(owner)s, %(query)s, %(phrases)s::text[], %(count_max)s, %(statistics_age)s::interval
) AS known

-- name: words
-- What has the words of a query, what is around it, and their vectors; see migration 0027.
SELECT found.*, around.*, theirs.*
FROM mnemic.authenticate_tenant(%(tenant_id)s, %(signature)s::text) AS entered (tenant_id)
CROSS JOIN LATERAL mnemic.recall_by_words(
    entered.tenant_id, %(owner)s, %(searched)s::text[], %(weights)s::real[], %(memory_total)s, %(limit)s,
    %(filter)s::mnemic.recall_filter, %(as_of)s::timestamptz
) AS found
CROSS JOIN LATERAL mnemic.candidate_features(
    %(owner)s, found.found_ids || %(ids)s::uuid[], found.found_ids[:%(expanded)s] || (%(ids)s::uuid[])[:%(expanded)s],
    %(reach)s, %(terms)s::text[], %(filter)s::mnemic.recall_filter, %(as_of)s::timestamptz, %(along_bytes)s
) AS around
CROSS JOIN LATERAL mnemic.recall_vectors(
    entered.tenant_id, %(owner)s, around.memory_ids, %(with_vectors)s, NULL::halfvec[]
) AS theirs

-- name: find_filtered
-- The newest memories of an owner that pass a filter.
SELECT memory_id
FROM mnemic.filtered_candidates(%(owner)s, %(filter)s::mnemic.recall_filter, %(limit)s) AS found (memory_id)

-- name: mentioning
-- The newest memories that mention one of these entities (`hops` 0) or one that is related to them
-- (`hops` 1), the nearer ones first.
WITH near AS (
    SELECT entity_id, 0 AS hops FROM unnest(%(entity_ids)s::uuid[]) AS given (entity_id)
    UNION
    SELECT to_id, 1 FROM state.entity_relations WHERE owner = %(owner)s AND from_id = ANY(%(entity_ids)s::uuid[])
    UNION
    SELECT from_id, 1 FROM state.entity_relations WHERE owner = %(owner)s AND to_id = ANY(%(entity_ids)s::uuid[])
)
SELECT linked.memory_id, min(near.hops) AS hops
FROM near
CROSS JOIN LATERAL (
    SELECT memory_id FROM state.memory_entities
    WHERE entity_id = near.entity_id AND owner = %(owner)s
    ORDER BY memory_id DESC
    LIMIT %(limit)s
) AS linked
GROUP BY linked.memory_id
ORDER BY min(near.hops), linked.memory_id DESC
LIMIT %(limit)s

-- name: near
-- What is near in meaning, and what is around it; see migration 0027. `near_cosines` go with `near_ids`,
-- `other_cosines` with `other_ids`, the rest of what has a vector.
SELECT found.*, around.*, theirs.*
FROM mnemic.authenticate_tenant(%(tenant_id)s, %(signature)s::text) AS entered (tenant_id)
CROSS JOIN LATERAL mnemic.recall_by_vector(
    entered.tenant_id, %(owner)s, %(model)s, %(vector_table)s, %(vector)s::halfvec, %(near)s::uuid[], %(index_name)s,
    %(ef_search)s, %(limit)s
) AS found
CROSS JOIN LATERAL mnemic.candidate_features(
    %(owner)s, %(ids)s::uuid[] || found.near_ids, (%(ids)s::uuid[])[:%(expanded)s] || found.near_ids[:%(expanded)s],
    %(reach)s, %(terms)s::text[], %(filter)s::mnemic.recall_filter, %(as_of)s::timestamptz, %(along_bytes)s
) AS around
CROSS JOIN LATERAL mnemic.recall_cosines(
    entered.tenant_id, %(vector_table)s, CASE WHEN found.model = %(model)s THEN %(vector)s::halfvec END,
    around.memory_ids, CASE WHEN found.near_cosines IS NOT NULL THEN found.near_ids END
) AS theirs

-- name: records
-- Memories by id as they are.
SELECT found.*
FROM mnemic.authenticate_tenant(%(tenant_id)s, %(signature)s::text) AS entered (tenant_id)
CROSS JOIN LATERAL mnemic.recall_records(entered.tenant_id, %(ids)s::uuid[]) AS found

-- name: records_as_of
-- Memories by id as they were known at a moment.
SELECT found.*
FROM unnest(%(ids)s::uuid[]) AS given (memory_id)
CROSS JOIN LATERAL (
    SELECT
        memory_id, version, owner, channel, process, conversation, "position", role, name, content, category, tags,
        metadata, source, provenance, evidence, confidence, anchored, status, superseded_by, merged_into, at, valid_from,
        valid_to, expires_at, deleted_at, created_at, recorded_at, changed_by, change_reason, whole_id, chunk_index,
        chunk_count, external_id, usefulness, salience, reinforcement_count, retrieval_count, last_retrieved_at,
        last_injected_at
    FROM state.memory_history
    WHERE memory_history.memory_id = given.memory_id
      AND recorded_at <= %(as_of)s AND coalesce(known_until > %(as_of)s, true)
    OFFSET 0
) AS found

-- name: entity_names
-- The names of the entities that memories mention, in the order of the alphabet.
SELECT linked.memory_id, array_agg(entities.name ORDER BY entities.name) AS names
FROM state.memory_entities AS linked
JOIN state.entities ON entities.owner = linked.owner AND entities.entity_id = linked.entity_id
WHERE linked.memory_id = ANY(%(ids)s::uuid[])
GROUP BY linked.memory_id

-- name: reinforce
-- Counts that memories were recalled; `last_s` is when last, in seconds since 1970. The rows are written in one order,
-- so that two calls wait for each other and not in a circle; what was erased meanwhile is left out.
INSERT INTO state.recall_counts AS kept (tenant_id, memory_id, retrieval_count, last_retrieved_at)
SELECT found.tenant_id, given.memory_id, given.times, to_timestamp(given.last_s)
FROM unnest(%(ids)s::uuid[], %(times)s::int[], %(last_s)s::float8[]) AS given (memory_id, times, last_s)
CROSS JOIN LATERAL (
    SELECT tenant_id FROM state.memories WHERE memories.memory_id = given.memory_id OFFSET 0
) AS found
ORDER BY given.memory_id
ON CONFLICT (tenant_id, memory_id) DO UPDATE
SET retrieval_count = kept.retrieval_count + excluded.retrieval_count,
    last_retrieved_at = greatest(kept.last_retrieved_at, excluded.last_retrieved_at)

-- name: refresh_statistics
-- Counts an owner's memories and words; see mnemic.refresh_statistics.
SELECT mnemic.refresh_statistics(%(owner)s) AS memory_count
