-- The reading side. Filters are mnemic.recall_filter; see migration 0010.

-- name: prepare
-- What must be known before searching: the words of the query that are indexed, in their order, each as a
-- tsquery, with how many of the owner's memories have them where that is kept; how many memories there are
-- (counted up to `count_max` where no number is kept), their mean length in bytes where that is kept, and
-- whether what is kept is older than `statistics_age`; whether the owner has entities, and whether anybody lets him
-- read; and the vectors that serve the tenant (see vectors.in_use), NULL before the first one.
SELECT
    query.lexemes, query.terms,
    ARRAY(
        -- A sub-select is one look by key; a join might read all words of the owner.
        SELECT (
            SELECT memory_count FROM vectors.word_statistics
            WHERE word_statistics.owner = %(owner)s AND word_statistics.word = wanted.word
        )
        FROM unnest(query.lexemes) WITH ORDINALITY AS wanted (word, place)
        ORDER BY wanted.place
    ) AS counts,
    kept.memory_count AS kept_count, kept.mean_bytes,
    coalesce(kept.refreshed_at < now() - %(statistics_age)s::interval, false) AS is_stale,
    CASE WHEN kept.memory_count IS NULL THEN (
        SELECT count(*) FROM (SELECT FROM state.memories WHERE owner = %(owner)s LIMIT %(count_max)s) AS first_ones
    ) END AS counted,
    EXISTS (SELECT FROM state.entity_names WHERE owner = %(owner)s) AS has_entities,
    EXISTS (SELECT FROM state.grants WHERE granted_to = %(owner)s AND revoked_at IS NULL) AS has_grants,
    serving.model, serving.table_name, serving.dimensions, serving.next_table_name
FROM (
    SELECT
        coalesce(array_agg(lexeme ORDER BY positions[1], lexeme), '{}') AS lexemes,
        coalesce(array_agg(strip(array_to_tsvector(ARRAY[lexeme]))::text ORDER BY positions[1], lexeme), '{}') AS terms
    FROM unnest(to_tsvector('english', %(query)s))
) AS query
LEFT JOIN vectors.owner_statistics AS kept ON kept.owner = %(owner)s
LEFT JOIN mnemic.vectors_in_use() AS serving ON true

-- name: phrase
-- Words that stand together, as a tsquery; NULL if none of them is indexed.
SELECT nullif(phraseto_tsquery('english', %(phrase)s)::text, '') AS term

-- name: find_words
-- The best matches of some terms among an owner's memories; see mnemic.find_words.
SELECT memory_ids, counts, conversations, conversation_terms
FROM mnemic.find_words(
    %(owner)s, %(terms)s::text[], %(weights)s::real[], %(memory_total)s,
    ROW(
        %(channels)s::text[], %(categories)s::text[], %(tags)s::text[], %(any_tags)s::text[],
        %(conversation)s, %(since)s, %(until)s, %(min_confidence)s, %(statuses)s::text[], %(moment)s,
        %(as_of)s::timestamptz IS NOT NULL
    )::mnemic.recall_filter,
    %(as_of)s::timestamptz, %(limit)s
)

-- name: find_filtered
-- The newest memories of an owner that pass a filter.
SELECT memory_id
FROM mnemic.find_filtered(
    %(owner)s,
    ROW(
        %(channels)s::text[], %(categories)s::text[], %(tags)s::text[], %(any_tags)s::text[],
        %(conversation)s, %(since)s, %(until)s, %(min_confidence)s, %(statuses)s::text[], %(moment)s,
        %(as_of)s::timestamptz IS NOT NULL
    )::mnemic.recall_filter,
    %(limit)s
) AS found (memory_id)

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

-- name: evidence
-- Candidates and the turns around the best of them, with all that ranking looks at; see mnemic.evidence.
SELECT *
FROM mnemic.evidence(
    %(owner)s, %(ids)s::uuid[], %(expanded_ids)s::uuid[], %(reach)s, %(terms)s::text[],
    ROW(
        %(channels)s::text[], %(categories)s::text[], %(tags)s::text[], %(any_tags)s::text[],
        %(conversation)s, %(since)s, %(until)s, %(min_confidence)s, %(statuses)s::text[], %(moment)s,
        %(as_of)s::timestamptz IS NOT NULL
    )::mnemic.recall_filter,
    %(as_of)s::timestamptz
)

-- name: records
-- Memories by id as they are.
SELECT found.*
FROM unnest(%(ids)s::uuid[]) AS given (memory_id)
CROSS JOIN LATERAL (
    SELECT * FROM state.memory_records WHERE memory_records.memory_id = given.memory_id OFFSET 0
) AS found

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
