-- The reading side. Filters are mnemic.recall_filter; see migration 0010.

-- name: prepare
-- What must be known before searching: the words of the query that are indexed, in their order, each as a
-- tsquery, with how many of the owner's memories have them where that is kept; how many memories there are
-- (counted up to `count_max` where no number is kept), their mean length in bytes and a sample of them where
-- that is kept, and whether what is kept is older than `statistics_age`.
SELECT
    query.lexemes, query.terms,
    ARRAY(
        SELECT counts.memory_count
        FROM unnest(query.lexemes) WITH ORDINALITY AS wanted (word, place)
        LEFT JOIN vectors.word_statistics AS counts ON counts.owner = %(owner)s AND counts.word = wanted.word
        ORDER BY wanted.place
    ) AS counts,
    kept.memory_count AS kept_count, kept.mean_bytes, coalesce(kept.sample, '{}') AS sample,
    coalesce(kept.refreshed_at < now() - %(statistics_age)s::interval, false) AS is_stale,
    CASE WHEN kept.memory_count IS NULL THEN (
        SELECT count(*) FROM (SELECT FROM state.memories WHERE owner = %(owner)s LIMIT %(count_max)s) AS first_ones
    ) END AS counted
FROM (
    SELECT
        coalesce(array_agg(lexeme ORDER BY positions[1], lexeme), '{}') AS lexemes,
        coalesce(array_agg(strip(array_to_tsvector(ARRAY[lexeme]))::text ORDER BY positions[1], lexeme), '{}') AS terms
    FROM unnest(to_tsvector('english', %(query)s))
) AS query
LEFT JOIN vectors.owner_statistics AS kept ON kept.owner = %(owner)s

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
-- Candidates and the turns around the best of them (`reach` before and after), as far as they pass the filter,
-- with all that ranking looks at; column by column, since many rows take longer to unpack than to find.
-- `terms` says which terms of the query a memory has: bit n stands for term n. LATERAL and LIMIT make it one
-- look into an index per memory, whatever the planner believes about the tables; IS TRUE keeps it from indexes
-- by owner.
WITH term AS MATERIALIZED (
    SELECT given.term::tsquery AS term, given.place
    FROM unnest(%(terms)s::text[]) WITH ORDINALITY AS given (term, place)
),
expanded AS MATERIALIZED (
    -- The bounds are computed here: row-level security keeps an index from comparing with what may fail.
    SELECT
        found.conversation, found."position" - %(reach)s::int AS first_near,
        found."position" + %(reach)s::int AS last_near
    FROM unnest(%(expanded_ids)s::uuid[]) AS given (memory_id)
    CROSS JOIN LATERAL (
        SELECT conversation, "position" FROM state.memories
        WHERE memories.memory_id = given.memory_id AND (owner = %(owner)s) IS TRUE
        LIMIT 1
    ) AS found
),
pool AS MATERIALIZED (
    SELECT memory_id FROM unnest(%(ids)s::uuid[]) AS given (memory_id)
    UNION
    SELECT around.memory_id
    FROM expanded
    CROSS JOIN LATERAL (
        SELECT memory_id FROM state.memories
        WHERE owner = %(owner)s AND memories.conversation = expanded.conversation
          AND "position" BETWEEN expanded.first_near AND expanded.last_near
        OFFSET 0
    ) AS around
)
SELECT
    array_agg(found.memory_id) AS memory_ids, array_agg(found.conversation) AS conversations,
    array_agg(found."position") AS positions, array_agg(found.role) AS roles, array_agg(found.name) AS names,
    array_agg(found.channel) AS channels, array_agg(found.bytes) AS bytes,
    array_agg(extract(epoch FROM found.happened_at)::float8) AS happened_at_s,
    array_agg(found.confidence) AS confidences, array_agg(found.usefulness) AS usefulnesses,
    array_agg(found.salience) AS saliences, array_agg(found.anchored) AS anchored,
    array_agg(
        CASE WHEN found.valid_to <= %(moment)s THEN -1 WHEN found.valid_from > %(moment)s THEN 1 ELSE 0 END
    ) AS tenses,
    array_agg((
        SELECT coalesce(bit_or(1::bigint << (term.place - 1)::int), 0) FROM term WHERE found.words @@ term.term
    )) AS terms
FROM pool
CROSS JOIN LATERAL (
    SELECT * FROM state.recallable
    WHERE recallable.memory_id = pool.memory_id AND (owner = %(owner)s) IS TRUE
      AND CASE WHEN %(as_of)s::timestamptz IS NULL THEN known_until IS NULL
          ELSE recorded_at <= %(as_of)s AND coalesce(known_until > %(as_of)s, true) END
      AND mnemic.passes(
          ROW(
              %(channels)s::text[], %(categories)s::text[], %(tags)s::text[], %(any_tags)s::text[],
              %(conversation)s, %(since)s, %(until)s, %(min_confidence)s, %(statuses)s::text[], %(moment)s,
              %(as_of)s::timestamptz IS NOT NULL
          )::mnemic.recall_filter,
          channel, category, tags, conversation, happened_at, confidence, status, deleted_at, expires_at,
          valid_from, valid_to
      )
    LIMIT 1
) AS found

-- name: records
-- Memories by id as they are, or as they were at a moment.
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
      AND CASE WHEN %(as_of)s::timestamptz IS NULL THEN known_until IS NULL
          ELSE recorded_at <= %(as_of)s AND coalesce(known_until > %(as_of)s, true) END
    LIMIT 1
) AS found

-- name: entity_names
-- The names of the entities that memories mention, in the order of the alphabet.
SELECT linked.memory_id, array_agg(entities.name ORDER BY entities.name) AS names
FROM state.memory_entities AS linked
JOIN state.entities ON entities.owner = linked.owner AND entities.entity_id = linked.entity_id
WHERE linked.memory_id = ANY(%(ids)s::uuid[])
GROUP BY linked.memory_id

-- name: reinforce
-- Counts that memories were recalled. The rows are locked in one order, so that two calls wait for each
-- other and not in a circle; what was erased meanwhile is left out.
WITH again AS MATERIALIZED (
    SELECT memories.memory_id, given.times, given.last_at
    FROM state.memories
    JOIN unnest(%(ids)s::uuid[], %(times)s::int[], %(last_ats)s::timestamptz[]) AS given (memory_id, times, last_at)
        USING (memory_id)
    ORDER BY memories.memory_id
    FOR NO KEY UPDATE OF memories
)
UPDATE state.memories
SET retrieval_count = retrieval_count + again.times,
    last_retrieved_at = greatest(last_retrieved_at, again.last_at)
FROM again
WHERE memories.memory_id = again.memory_id

-- name: refresh_statistics
-- Counts an owner's memories and words; see mnemic.refresh_statistics.
SELECT mnemic.refresh_statistics(%(owner)s) AS memory_count
