-- The features of candidates for ranking, and their records, column by column as one row of arrays: many rows take
-- longer to unpack than to find. Candidates are the given memories and the turns around some of them (`reach`
-- before and after), as far as they match the filter. Bit n of `terms` says whether the memory contains term n. A
-- record whose texts exceed `along_bytes` comes without them (`content` is NULL). Tags are JSON, NULL where there are
-- none: arrays cannot hold arrays of different length. `outdated` lists the memories that outdate a candidate, each
-- with certainty and reason.
--
-- A column more costs about as much as a memory more, so what few memories have is in one column: `details`, as JSON, NULL where
-- all of it is as in a memory that was just stored. `numbers` is an array in PostgreSQL's binary format, with a row for each
-- memory: bytes, seconds since 1970, confidence, usefulness, salience, whether it is anchored, and whether it was (-1), is (0)
-- or will be (1) valid.
--
-- LATERAL and OFFSET 0 force one index lookup per memory, whatever the planner estimates; IS TRUE keeps it from
-- using an index by owner. Earlier versions are read only for a time in the past (`as_of`) or in a
-- branch. Runs with the caller's
-- privileges and policies; the plan does not depend on the arguments and is kept. `granted` is what a grant covers, NULL
-- for an owner's own memories; see mnemic.is_granted_today. Salience and usefulness are those of now, or of `as_of`; for the
-- reader of a grant those of a memory that nobody used, since a grant does not cover its use by others.
CREATE OR REPLACE FUNCTION mnemic.candidate_features(
    wanted_owner text, ids uuid[], expanded_ids uuid[], reach int, wanted_terms text[], filter mnemic.recall_filter,
    granted mnemic.recall_filter, as_of timestamptz, along_bytes int
)
RETURNS TABLE (
    memory_ids uuid[], conversations text[], positions int[], roles text[], names text[], channels text[], numbers bytea,
    terms bigint[], process text[], content text[], category text[], tags text[], source text[], at timestamptz[],
    created_at timestamptz[], whole_id text[], external_id text[], retrieval_count int[], last_retrieved_at timestamptz[],
    details text[], outdated text[]
)
LANGUAGE plpgsql STABLE ROWS 1
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
    -- Variables: a field of a composite value is extracted for every row. Most recalls filter by these only.
    wanted_statuses text[] := (filter).statuses;
    wanted_channels text[] := (filter).channels;
    given_moment timestamptz := (filter).moment;
    in_branch boolean := (filter).branch IS NOT NULL;
    is_granted boolean := (granted).statuses IS NOT NULL;
    reads_past boolean := as_of IS NOT NULL OR (filter).branch IS NOT NULL;
    filters_more boolean := (filter).valid_at_moment OR num_nonnulls(
        (filter).categories, (filter).tags, (filter).any_tags, (filter).conversation, (filter).since, (filter).until,
        (filter).min_confidence, (filter).role, (filter).name, (filter).source, (filter).metadata
    ) > 0;
BEGIN
    RETURN QUERY
    WITH term AS MATERIALIZED (
        SELECT given.term::tsquery AS term, given.place
        FROM unnest(wanted_terms) WITH ORDINALITY AS given (term, place)
    ),
    expanded AS MATERIALIZED (
        -- Compute the bounds here: under row-level security an index condition must not contain an expression that can fail.
        SELECT found.conversation, found."position" - reach AS first_near, found."position" + reach AS last_near
        FROM unnest(expanded_ids) AS given (memory_id)
        CROSS JOIN LATERAL (
            SELECT conversation, "position" FROM state.memories
            WHERE memories.memory_id = given.memory_id AND (owner = wanted_owner) IS TRUE
            OFFSET 0
        ) AS found
    ),
    newer AS MATERIALIZED (
        -- Memories that outdate candidates become candidates themselves, if they match the filter. Not for readers of a
        -- grant: whether a mark was found depends on all memories of the giver (mnemic.pending_neighbours).
        SELECT
            marked.older_id, marked.newer_id, marked.reason,
            CASE WHEN marked.decision = 'current' THEN 0 ELSE marked.certainty END AS certainty
        FROM unnest(ids) AS given (memory_id)
        CROSS JOIN LATERAL (
            SELECT older_id, newer_id, certainty, reason, decision FROM state.outdated_memories
            WHERE older_id = given.memory_id AND NOT is_granted
            ORDER BY decision = 'current', newer_id DESC LIMIT 6
        ) AS marked
    ),
    pool AS MATERIALIZED (
        SELECT memory_id FROM unnest(ids) AS given (memory_id)
        UNION
        SELECT newer_id FROM newer WHERE certainty > 0
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
        array_agg(found.name), array_agg(found.channel),
        array_send(array_agg(ARRAY[
            octet_length(found.content), extract(epoch FROM found.happened_at), found.confidence, found.usefulness,
            found.salience, found.anchored::int,
            CASE WHEN found.valid_to <= given_moment THEN -1 WHEN found.valid_from > given_moment THEN 1 ELSE 0 END
        ]::float8[])),
        array_agg((
            SELECT coalesce(bit_or(1::bigint << (term.place - 1)::int), 0) FROM term WHERE found.words @@ term.term
        )),
        array_agg(found.process), array_agg(CASE WHEN found.comes_along THEN found.content END), array_agg(found.category),
        -- Ranking needs the tags of summaries, even of long ones.
        array_agg(
            CASE
                WHEN (found.comes_along OR found.source = 'inferred') AND found.tags <> '{}' THEN to_json(found.tags)::text
            END
        ),
        array_agg(found.source), array_agg(found.at), array_agg(found.created_at), array_agg(found.whole_id::text),
        array_agg(found.external_id), array_agg(found.retrieval_count), array_agg(found.last_retrieved_at),
        array_agg(
            CASE WHEN found.comes_along AND found.is_unusual THEN json_build_object(
                'version', found.version, 'metadata', found.metadata, 'provenance', found.provenance,
                'evidence', found.evidence, 'status', found.status, 'superseded_by', found.superseded_by,
                'merged_into', found.merged_into, 'valid_from', found.valid_from, 'valid_to', found.valid_to,
                'expires_at', found.expires_at, 'recorded_at', found.recorded_at, 'changed_by', found.changed_by,
                'change_reason', found.change_reason, 'chunk_index', found.chunk_index, 'chunk_count', found.chunk_count,
                'reinforcement_count', found.reinforcement_count, 'last_injected_at', found.last_injected_at
            )::text END
        ),
        array_agg((
            SELECT json_agg(json_build_array(newer_id, certainty, reason))::text FROM newer WHERE older_id = found.memory_id
        ))
    FROM pool
    CROSS JOIN LATERAL (
        SELECT
            *,
            octet_length(content) + pg_column_size(tags) + pg_column_size(metadata) + pg_column_size(evidence)
                <= along_bytes AS comes_along,
            version > 1 OR metadata <> '{}' OR evidence <> '{}' OR provenance <> 'witnessed' OR status <> 'active'
                OR changed_by <> 'user' OR reinforcement_count > 0 OR recorded_at <> created_at OR num_nonnulls(
                    superseded_by, merged_into, valid_from, valid_to, expires_at, change_reason, chunk_index, last_injected_at
                ) > 0 AS is_unusual
        FROM (
            SELECT
                tenant_id, memory_id, conversation, "position", role, name, channel, version, process, content, category, tags,
                metadata, source, provenance, evidence, confidence, anchored, status, superseded_by, merged_into, at,
                coalesce(at, created_at) AS happened_at, valid_from, valid_to, expires_at, deleted_at, created_at,
                recorded_at, changed_by, change_reason, whole_id, chunk_index, chunk_count, external_id,
                mnemic.usefulness(usefulness, counts.useful_count, counts.not_useful_count) AS usefulness,
                mnemic.salience(
                    salience, category, conversation, anchored, created_at, counts.retrieval_count,
                    counts.last_retrieved_at, counts.useful_count, counts.not_useful_count, counts.last_useful_at,
                    coalesce(as_of, now())
                ) AS salience,
                reinforcement_count, coalesce(counts.retrieval_count, 0) AS retrieval_count,
                counts.last_retrieved_at, last_injected_at, words
            FROM state.memories
            LEFT JOIN (
                SELECT * FROM state.recall_counts WHERE NOT is_granted
            ) AS counts USING (tenant_id, memory_id)
            WHERE memories.memory_id = pool.memory_id AND (owner = wanted_owner) IS TRUE
              AND (NOT reads_past OR coalesce(recorded_at <= mnemic.known_at(filter, channel, as_of), true))
              AND (
                  NOT is_granted
                  OR branch IS NULL
                  AND (as_of IS NULL OR mnemic.is_granted_today(memories.tenant_id, pool.memory_id, granted))
              )
            UNION ALL
            SELECT
                tenant_id, memory_id, conversation, "position", role, name, channel, version, process, content, category, tags,
                metadata, source, provenance, evidence, confidence, anchored, status, superseded_by, merged_into, at,
                coalesce(at, created_at), valid_from, valid_to, expires_at, deleted_at, created_at, recorded_at, changed_by,
                change_reason, whole_id, chunk_index, chunk_count, external_id,
                CASE WHEN is_granted THEN 0.5 ELSE usefulness END, CASE WHEN is_granted THEN 0.5 ELSE salience END, reinforcement_count, retrieval_count,
                last_retrieved_at, last_injected_at, words
            FROM state.memory_versions
            WHERE reads_past
              AND memory_versions.memory_id = pool.memory_id AND (owner = wanted_owner) IS TRUE
              AND recorded_at <= mnemic.known_at(filter, channel, as_of)
              AND known_until > mnemic.known_at(filter, channel, as_of)
              AND (
                  NOT is_granted
                  OR branch IS NULL AND mnemic.is_granted_today(memory_versions.tenant_id, pool.memory_id, granted)
              )
        ) AS known
        WHERE (NOT in_branch OR NOT mnemic.is_hidden(tenant_id, wanted_owner, memory_id, filter, as_of))
          AND status = ANY(wanted_statuses) AND deleted_at IS NULL AND (expires_at IS NULL OR expires_at > given_moment)
          AND (wanted_channels IS NULL OR channel = ANY(wanted_channels))
          AND (
              NOT filters_more
              OR mnemic.matches_filter(
                  filter, channel, category, tags, conversation, happened_at, confidence, status, deleted_at, expires_at,
                  valid_from, valid_to, role, name, source, metadata
              )
          )
        OFFSET 0
    ) AS found;
END
$$;
