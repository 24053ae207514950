-- Lexical search (mnemic.lexical_candidates) if `searched` has any terms.
CREATE OR REPLACE FUNCTION mnemic.recall_by_words(
    of_tenant uuid, wanted_owner text, searched text[], weights real[], memory_total int, mean_bytes real,
    most int, filter mnemic.recall_filter, granted mnemic.recall_filter, as_of timestamptz,
    OUT found_ids uuid[], OUT counts int[], OUT found_conversations text[], OUT conversation_terms bigint[]
)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    found_ids := '{}';
    IF searched <> '{}' THEN
        SELECT words.memory_ids, words.counts, words.conversations, words.conversation_terms
        INTO found_ids, counts, found_conversations, conversation_terms
        FROM mnemic.lexical_candidates(
            wanted_owner, searched, weights, memory_total, mean_bytes, filter, granted, as_of, most
        ) AS words;
    END IF;
END
$$;
