-- needs: recall/searched_terms, recall/recall_by_words
-- Lexical search for those terms of a query that find enough (mnemic.searched_terms), with what mnemic.recall_terms says about
-- them, in the same statement. The terms are at most `terms_max` words and the phrases, which are not counted. Searches nothing,
-- and `term_bits` stays NULL, unless the search `is_wanted`.
CREATE OR REPLACE FUNCTION mnemic.recall_by_terms(
    of_tenant uuid, wanted_owner text, words text[], word_counts int[], phrases text[], terms_max int, kept_count int,
    counted bigint, mean_bytes real, is_wanted boolean, most int, filter mnemic.recall_filter, as_of timestamptz,
    OUT term_bits bigint[], OUT found_ids uuid[], OUT match_counts int[], OUT found_conversations text[],
    OUT conversation_terms bigint[]
)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    known_phrases text[] := array_remove(phrases, NULL);
    terms text[] := words[:terms_max] || known_phrases;
    counts int[] := word_counts[:terms_max] || array_fill(NULL::int, ARRAY[cardinality(known_phrases)]);
    chosen record;
BEGIN
    IF NOT is_wanted THEN
        RETURN;
    END IF;
    chosen := mnemic.searched_terms(
        terms, CASE WHEN kept_count IS NOT NULL THEN counts END, array_fill(1::float8, ARRAY[cardinality(terms)]), kept_count
    );
    term_bits := chosen.term_bits;
    SELECT by_words.found_ids, by_words.counts, by_words.found_conversations, by_words.conversation_terms
    INTO found_ids, match_counts, found_conversations, conversation_terms
    FROM mnemic.recall_by_words(
        of_tenant, wanted_owner, chosen.searched, chosen.weights, coalesce(kept_count, counted)::int, mean_bytes, most,
        filter, NULL, as_of
    ) AS by_words;
END
$$;
