-- Recall. Filters are of the type mnemic.recall_filter (migrations/0004_search.sql, 0019_more_filters.sql).

-- name: terms
-- Analyzes a query (see mnemic.recall_terms), and searches for its words at once (mnemic.recall_by_terms), unless a word is
-- probably misspelt, or a branch is read.
SELECT known.*, found.*
FROM mnemic.authenticate_tenant(%(tenant_id)s, %(signature)s::text) AS entered (tenant_id)
CROSS JOIN LATERAL mnemic.recall_terms(
    entered.tenant_id, %(owner)s, %(query)s, %(phrases)s::text[], %(count_max)s, %(statistics_age)s::interval,
    %(suspects)s::text[], %(language)s::text, %(channels)s::text[]
) AS known
CROSS JOIN LATERAL mnemic.recall_by_terms(
    entered.tenant_id, %(owner)s, known.terms, known.counts, known.phrase_terms, %(terms_max)s, known.kept_count,
    known.counted, known.mean_bytes, %(searches)s AND known.branch IS NULL AND known.unknown = '{}', %(limit)s,
    %(filter)s::mnemic.recall_filter, %(as_of)s::timestamptz
) AS found

-- name: vocabulary
-- The indexed words of an owner; see mnemic.recall_vocabulary.
SELECT mnemic.recall_vocabulary(
    entered.tenant_id, %(owner)s, %(shortest)s, %(longest)s, %(memories_max)s, %(words_max)s,
    %(filter)s::mnemic.recall_filter, %(granted)s::mnemic.recall_filter, %(as_of)s::timestamptz
) AS words
FROM mnemic.authenticate_tenant(%(tenant_id)s, %(signature)s::text) AS entered (tenant_id)

-- name: words
-- Lexical candidates; see mnemic.recall_by_words.
SELECT found.*
FROM mnemic.authenticate_tenant(%(tenant_id)s, %(signature)s::text) AS entered (tenant_id)
CROSS JOIN LATERAL mnemic.recall_by_words(
    entered.tenant_id, %(owner)s, %(searched)s::text[], %(weights)s::real[], %(memory_total)s, %(mean_bytes)s::real,
    %(limit)s, %(filter)s::mnemic.recall_filter, %(granted)s::mnemic.recall_filter, %(as_of)s::timestamptz
) AS found

-- name: words_by_rarity
-- Lexical candidates by those terms that find enough; see mnemic.searched_terms.
SELECT chosen.term_bits, found.found_ids, found.counts AS match_counts, found.found_conversations, found.conversation_terms
FROM mnemic.authenticate_tenant(%(tenant_id)s, %(signature)s::text) AS entered (tenant_id)
CROSS JOIN LATERAL mnemic.searched_terms(
    %(terms)s::text[], %(counts)s::int[], %(certainties)s::float8[], %(memory_count)s
) AS chosen
CROSS JOIN LATERAL mnemic.recall_by_words(
    entered.tenant_id, %(owner)s, chosen.searched, chosen.weights, %(memory_total)s, %(mean_bytes)s::real,
    %(limit)s, %(filter)s::mnemic.recall_filter, %(granted)s::mnemic.recall_filter, %(as_of)s::timestamptz
) AS found

-- name: find_filtered
-- The newest memories of an owner that match a filter.
SELECT memory_id
FROM mnemic.filtered_candidates(%(owner)s, %(filter)s::mnemic.recall_filter, %(limit)s) AS found (memory_id)

-- name: granted
-- How many memories a request finds through a grant.
SELECT count(*) AS memory_count
FROM mnemic.authenticate_tenant(%(tenant_id)s, %(signature)s::text) AS entered (tenant_id)
CROSS JOIN LATERAL mnemic.granted_memories(
    entered.tenant_id, %(owner)s, %(filter)s::mnemic.recall_filter, %(granted)s::mnemic.recall_filter,
    %(as_of)s::timestamptz
) AS found

-- name: nearest_granted
-- The nearest memories that a grant covers, and the statistics of their cosines; see mnemic.nearest_granted.
SELECT found.*
FROM mnemic.authenticate_tenant(%(tenant_id)s, %(signature)s::text) AS entered (tenant_id)
CROSS JOIN LATERAL mnemic.nearest_granted(
    entered.tenant_id, %(owner)s, %(filter)s::mnemic.recall_filter, %(granted)s::mnemic.recall_filter,
    %(as_of)s::timestamptz, %(vector_table)s, %(vector)s::halfvec, %(limit)s
) AS found

-- name: find_granted
-- The newest memories that a grant covers.
SELECT memory_id
FROM mnemic.granted_memories(
    %(tenant_id)s, %(owner)s, %(filter)s::mnemic.recall_filter, %(granted)s::mnemic.recall_filter, NULL
)
ORDER BY happened_at DESC, memory_id DESC
LIMIT %(limit)s

-- name: mentioning
-- The newest memories that mention one of these entities (`hops` 0) or a related one (`hops` 1), nearest first.
WITH near AS (
    SELECT entity_id, 0 AS hops FROM unnest(%(entity_ids)s::uuid[]) AS given (entity_id)
    UNION
    SELECT to_id, 1 FROM state.entity_relations
    WHERE entity_relations.tenant_id = %(tenant_id)s
      AND owner = %(owner)s AND from_id = ANY(%(entity_ids)s::uuid[])
    UNION
    SELECT from_id, 1 FROM state.entity_relations
    WHERE entity_relations.tenant_id = %(tenant_id)s AND owner = %(owner)s AND to_id = ANY(%(entity_ids)s::uuid[])
)
SELECT linked.memory_id, min(near.hops) AS hops
FROM near
CROSS JOIN LATERAL (
    SELECT memory_id FROM state.memory_entities
    WHERE memory_entities.tenant_id = %(tenant_id)s AND entity_id = near.entity_id AND owner = %(owner)s
    ORDER BY memory_id DESC
    LIMIT %(limit)s
) AS linked
GROUP BY linked.memory_id
ORDER BY min(near.hops), linked.memory_id DESC
LIMIT %(limit)s

-- name: near
-- Vector candidates; candidates by time; and the features of all candidates, those of other searches included, and of the
-- turns around the best. See mnemic.recall_by_vector, recall_in_windows and candidate_features; with_cosines
-- (mnemic/db/vectors.py) adds their cosines. `near_cosines` belong to `near_ids`.
SELECT entered.tenant_id, found.*, in_time.*, around.*
FROM mnemic.authenticate_tenant(%(tenant_id)s, %(signature)s::text) AS entered (tenant_id)
CROSS JOIN LATERAL mnemic.recall_by_vector(
    entered.tenant_id, %(owner)s, %(model)s, %(vector_table)s, %(vector)s::halfvec, %(near)s::uuid[], %(index_name)s,
    %(ef_search)s, %(limit)s
) AS found
CROSS JOIN LATERAL mnemic.recall_in_windows(
    entered.tenant_id, %(owner)s, %(filter)s::mnemic.recall_filter, %(granted)s::mnemic.recall_filter,
    %(windows_since)s::timestamptz[], %(windows_until)s::timestamptz[], %(window_max)s, %(vector_table)s,
    CASE WHEN found.model = %(model)s AND NOT %(lists_windows)s THEN %(vector)s::halfvec END, %(by_time_max)s
) AS in_time
CROSS JOIN LATERAL mnemic.candidate_features(
    %(owner)s, %(ids)s::uuid[] || found.near_ids || in_time.time_ids,
    %(expanded_ids)s::uuid[] || found.near_ids[:%(expanded)s] || in_time.time_ids[:%(expanded)s],
    %(reach)s, %(terms)s::text[], %(filter)s::mnemic.recall_filter, %(granted)s::mnemic.recall_filter,
    %(as_of)s::timestamptz, %(along_bytes)s
) AS around

-- name: records
-- Memories by id.
SELECT found.*
FROM mnemic.authenticate_tenant(%(tenant_id)s, %(signature)s::text) AS entered (tenant_id)
CROSS JOIN LATERAL mnemic.recall_records(entered.tenant_id, %(ids)s::uuid[]) AS found

-- name: records_as_of
-- Memories by id as they were known at a time.
SELECT found.*
FROM unnest(%(ids)s::uuid[]) AS given (memory_id)
CROSS JOIN LATERAL (
    SELECT *
    FROM state.memory_history
    WHERE memory_history.tenant_id = %(tenant_id)s AND memory_history.memory_id = given.memory_id
      AND recorded_at <= %(as_of)s AND coalesce(known_until > %(as_of)s, true)
    OFFSET 0
) AS found

-- name: records_in_branch
-- Memories by id as a recall in a branch reads them.
SELECT found.*
FROM unnest(%(ids)s::uuid[]) AS given (memory_id)
CROSS JOIN LATERAL (
    SELECT *
    FROM state.memory_history
    WHERE memory_history.tenant_id = %(tenant_id)s AND memory_history.memory_id = given.memory_id
      AND CASE WHEN known_until IS NULL
          THEN coalesce(recorded_at <= mnemic.known_at(%(filter)s::mnemic.recall_filter, channel, %(as_of)s), true)
          ELSE recorded_at <= mnemic.known_at(%(filter)s::mnemic.recall_filter, channel, %(as_of)s)
            AND known_until > mnemic.known_at(%(filter)s::mnemic.recall_filter, channel, %(as_of)s)
      END
    OFFSET 0
) AS found

-- name: entity_names
-- The names of the entities that memories mention, in alphabetical order.
SELECT linked.memory_id, array_agg(entities.name ORDER BY entities.name) AS names
FROM state.memory_entities AS linked
JOIN state.entities
    ON entities.tenant_id = %(tenant_id)s
      AND entities.owner = linked.owner AND entities.entity_id = linked.entity_id
WHERE linked.tenant_id = %(tenant_id)s AND linked.memory_id = ANY(%(ids)s::uuid[])
GROUP BY linked.memory_id

-- name: reinforce
-- Counts recalls of memories; `last_s` is the time of the last one in seconds since 1970. Rows are inserted in a
-- fixed order to avoid deadlocks; erased memories are skipped.
INSERT INTO state.recall_counts AS kept (tenant_id, memory_id, retrieval_count, last_retrieved_at)
SELECT found.tenant_id, given.memory_id, given.times, to_timestamp(given.last_s)
FROM unnest(%(ids)s::uuid[], %(times)s::int[], %(last_s)s::float8[]) AS given (memory_id, times, last_s)
CROSS JOIN LATERAL (
    SELECT tenant_id FROM state.memories
    WHERE memories.tenant_id = %(tenant_id)s AND memories.memory_id = given.memory_id OFFSET 0
) AS found
ORDER BY given.memory_id
ON CONFLICT (tenant_id, memory_id) DO UPDATE
SET retrieval_count = kept.retrieval_count + excluded.retrieval_count,
    last_retrieved_at = greatest(kept.last_retrieved_at, excluded.last_retrieved_at)

-- name: refresh_statistics
-- Counts an owner's memories and words; see mnemic.refresh_statistics.
SELECT mnemic.refresh_statistics(%(owner)s) AS memory_count
