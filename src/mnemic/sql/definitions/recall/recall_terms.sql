-- Analyzes a query before the search: its words in their order (mnemic.query_words) and the phrases, each as a tsquery, with
-- the number of the owner's memories that contain a word, if statistics are kept; the number of memories (counted
-- up to `count_max` without statistics), their mean length in bytes, and whether the statistics are older than
-- `statistics_age`; whether the owner has entities and grants; the embedding model of the tenant, NULL before
-- the first vector; and those of the words `suspects` that no memory has (mnemic.unknown_words). `in_channels` are those
-- channels that may be branches: if one is, how to read it (mnemic.branch_view); NULL, for the reader of a grant, asks instead
-- whether the owner has branches.
CREATE OR REPLACE FUNCTION mnemic.recall_terms(
    of_tenant uuid, wanted_owner text, query text, phrases text[], count_max int, statistics_age interval,
    suspects text[], in_language text, in_channels text[]
)
RETURNS TABLE (
    lexemes text[], terms text[], counts int[], phrase_terms text[], kept_count int, mean_bytes real, is_stale boolean,
    counted bigint, has_entities boolean, has_grants boolean, model text, table_name text, dimensions int,
    unknown text[], branch text, past_channels text[], past_times timestamptz[], has_branches boolean
)
LANGUAGE plpgsql STABLE ROWS 1
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    unknown_suspects text[] := suspects;
BEGIN
    -- A statement of its own: most queries have no suspects, and then need not start its plan.
    IF suspects <> '{}' THEN
        unknown_suspects := mnemic.unknown_words(
            wanted_owner, suspects,
            ARRAY(
                SELECT (
                    SELECT
                        CASE WHEN NOT bool_or(EXISTS (
                            SELECT FROM vectors.word_statistics AS listed
                            WHERE listed.tenant_id = of_tenant AND listed.owner = wanted_owner
                              AND listed.word = ANY (parsed.exact)
                        )) THEN string_agg(mnemic.word_term(parsed.exact, parsed.prefixes), ' & ') END
                    FROM mnemic.query_words(given.word, in_language) AS parsed
                )
                FROM unnest(suspects) WITH ORDINALITY AS given (word, place)
                ORDER BY given.place
            )
        );
    END IF;
    RETURN QUERY
    SELECT
        query_words.lexemes, query_words.terms, query_words.counts,
        ARRAY(
            SELECT nullif(phraseto_tsquery('english', given.phrase)::text, '')
            FROM unnest(phrases) WITH ORDINALITY AS given (phrase, place)
            ORDER BY given.place
        ),
        kept.memory_count, kept.mean_bytes, coalesce(kept.refreshed_at < now() - statistics_age, false),
        CASE WHEN kept.memory_count IS NULL THEN (
            SELECT count(*) FROM (
                SELECT FROM state.memories WHERE memories.owner = wanted_owner LIMIT count_max
            ) AS first_ones
        ) END,
        EXISTS (SELECT FROM state.entity_names WHERE entity_names.owner = wanted_owner),
        -- Most tenants have no grants: see that first.
        EXISTS (SELECT FROM state.grants AS any_grant WHERE any_grant.tenant_id = of_tenant)
        AND EXISTS (SELECT FROM mnemic.readable_grants(of_tenant, wanted_owner)),
        serving.model, serving.table_name, serving.dimensions,
        unknown_suspects,
        viewed.branch, viewed.past_channels, viewed.past_times,
        in_channels IS NULL AND EXISTS (SELECT FROM state.channel_branches AS forked WHERE forked.owner = wanted_owner)
    FROM (
        SELECT
            coalesce(array_agg(looked_up.word ORDER BY looked_up.place, looked_up.word), '{}') AS lexemes,
            coalesce(array_agg(
                mnemic.word_term(looked_up.exact, looked_up.prefixes) ORDER BY looked_up.place, looked_up.word
            ), '{}') AS terms,
            -- A sub-select per form is one primary key lookup; a join might read all words of the owner. No index finds
            -- the words that begin with a prefix: these are read, for queries that are not in English.
            coalesce(array_agg(
                CASE WHEN looked_up.prefixes = '{}' THEN (
                    SELECT sum((
                        SELECT listed.memory_count FROM vectors.word_statistics AS listed
                        WHERE listed.tenant_id = of_tenant AND listed.owner = wanted_owner AND listed.word = form
                    ))::int
                    FROM unnest(looked_up.exact) AS form
                ) ELSE (
                    SELECT sum(listed.memory_count)::int FROM vectors.word_statistics AS listed
                    WHERE listed.tenant_id = of_tenant AND listed.owner = wanted_owner
                      AND (
                          listed.word = ANY (looked_up.exact)
                          OR EXISTS (
                              SELECT FROM unnest(looked_up.prefixes) AS given (prefix)
                              WHERE starts_with(listed.word, given.prefix)
                          )
                      )
                ) END ORDER BY looked_up.place, looked_up.word
            ), '{}') AS counts
        FROM mnemic.query_words(query, in_language) AS looked_up
        WHERE cardinality(looked_up.exact) + cardinality(looked_up.prefixes) > 0
    ) AS query_words
    LEFT JOIN vectors.owner_statistics AS kept ON kept.owner = wanted_owner
    LEFT JOIN (
        vectors.tenant_models AS used JOIN mnemic.vector_models AS serving ON serving.model = used.model
    ) ON true
    LEFT JOIN LATERAL mnemic.branch_view(of_tenant, wanted_owner, in_channels) AS viewed ON in_channels <> '{}';
END
$$;
