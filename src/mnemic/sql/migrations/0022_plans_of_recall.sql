-- Recall forces its searches to be planned anew, so that each goes by the index of its owner (vector_index.sql), and
-- the functions that it calls were so, too; mnemic.find_words was in any case, since a plan for a known moment looked
-- cheaper than one for any. Planning took each of them about as long as running.
--
-- Their plans do not depend on what they are called with: nothing in them is estimated from values (0001). So each makes
-- one plan per connection and keeps it.
ALTER FUNCTION mnemic.find_words(text, text[], real[], int, mnemic.recall_filter, timestamptz, int)
SET plan_cache_mode = force_generic_plan;
-- Each gives one row. Taken for a thousand, they made a statement look so dear that a server with a compiler would
-- compile it every time.
ALTER FUNCTION mnemic.find_words(text, text[], real[], int, mnemic.recall_filter, timestamptz, int) ROWS 1;

-- The same as before (0010), for a plan that is kept: only where a moment of the past is asked about does it look
-- at what memories were.
CREATE OR REPLACE FUNCTION mnemic.evidence(
    wanted_owner text, ids uuid[], expanded_ids uuid[], reach int, wanted_terms text[], filter mnemic.recall_filter,
    as_of timestamptz
)
RETURNS TABLE (
    memory_ids uuid[], conversations text[], positions int[], roles text[], names text[], channels text[], bytes int[],
    happened_at_s float8[], confidences real[], usefulnesses real[], saliences real[], anchored boolean[], tenses int[],
    terms bigint[]
)
LANGUAGE plpgsql STABLE ROWS 1
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH term AS MATERIALIZED (
        SELECT given.term::tsquery AS term, given.place
        FROM unnest(wanted_terms) WITH ORDINALITY AS given (term, place)
    ),
    expanded AS MATERIALIZED (
        -- The bounds are computed here: row-level security keeps an index from comparing with what may fail.
        SELECT found.conversation, found."position" - reach AS first_near, found."position" + reach AS last_near
        FROM unnest(expanded_ids) AS given (memory_id)
        CROSS JOIN LATERAL (
            SELECT conversation, "position" FROM state.memories
            WHERE memories.memory_id = given.memory_id AND (owner = wanted_owner) IS TRUE
            OFFSET 0
        ) AS found
    ),
    pool AS MATERIALIZED (
        SELECT memory_id FROM unnest(ids) AS given (memory_id)
        UNION
        SELECT around.memory_id
        FROM expanded
        CROSS JOIN LATERAL (
            SELECT memory_id FROM state.memories
            WHERE owner = wanted_owner AND memories.conversation = expanded.conversation
              AND "position" BETWEEN expanded.first_near AND expanded.last_near
            OFFSET 0
        ) AS around
    )
    SELECT
        array_agg(found.memory_id), array_agg(found.conversation), array_agg(found."position"), array_agg(found.role),
        array_agg(found.name), array_agg(found.channel), array_agg(found.bytes),
        array_agg(extract(epoch FROM found.happened_at)::float8), array_agg(found.confidence),
        array_agg(found.usefulness), array_agg(found.salience), array_agg(found.anchored),
        array_agg(
            CASE WHEN found.valid_to <= (filter).moment THEN -1 WHEN found.valid_from > (filter).moment THEN 1 ELSE 0 END
        ),
        array_agg((
            SELECT coalesce(bit_or(1::bigint << (term.place - 1)::int), 0) FROM term WHERE found.words @@ term.term
        ))
    FROM pool
    CROSS JOIN LATERAL (
        SELECT *
        FROM (
            SELECT
                memory_id, conversation, "position", role, name, channel, category, tags, confidence, anchored, status,
                coalesce(at, created_at) AS happened_at, valid_from, valid_to, expires_at, deleted_at, usefulness,
                salience, words, octet_length(content) AS bytes
            FROM state.memories
            WHERE memories.memory_id = pool.memory_id AND (owner = wanted_owner) IS TRUE
              AND (as_of IS NULL OR recorded_at <= as_of)
            UNION ALL
            SELECT
                memory_id, conversation, "position", role, name, channel, category, tags, confidence, anchored, status,
                coalesce(at, created_at), valid_from, valid_to, expires_at, deleted_at, usefulness, salience, words,
                octet_length(content)
            FROM state.memory_versions
            WHERE as_of IS NOT NULL AND memory_versions.memory_id = pool.memory_id AND (owner = wanted_owner) IS TRUE
              AND recorded_at <= as_of AND known_until > as_of
        ) AS known
        WHERE mnemic.passes(
            filter, channel, category, tags, conversation, happened_at, confidence, status, deleted_at, expires_at,
            valid_from, valid_to
        )
        OFFSET 0
    ) AS found;
END
$$;
DROP VIEW state.recallable;
