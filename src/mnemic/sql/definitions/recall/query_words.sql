-- The words of a query in their order, each with the tsquery terms that find it. Memories are indexed with English stems,
-- whatever their language. For a query in another language (`in_language` is the name of a text search configuration) its
-- stopwords are left out, and each word is found by its English stem and by words that begin with its stem in that
-- language, or with the word itself if the stem has fewer than `prefix_min` letters. An irregular English word is
-- found in all of its forms (mnemic.word_forms). `exact` are indexed words, `prefixes` beginnings of indexed words.
CREATE OR REPLACE FUNCTION mnemic.query_words(query text, in_language text)
RETURNS TABLE (word text, place int, exact text[], prefixes text[])
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    prefix_min CONSTANT int := 4;
    -- The Spanish stopwords have "donde" but not "dónde", which asks; both have the same stem.
    question_words CONSTANT text[] :=
        '{adónde,cómo,cuál,cuáles,cuándo,cuánta,cuántas,cuánto,cuántos,dónde,quién,quiénes}';
BEGIN
    IF in_language IS NULL THEN
        RETURN QUERY
        -- Forms of the same word are one term.
        SELECT min(found.lexeme), min(found.positions[1])::int, found.forms, '{}'::text[]
        FROM (
            SELECT
                lexeme, positions,
                CASE
                    -- "SKU-2231" is indexed as "sku" and "-2231", "SKU 2231" as "sku" and "2231".
                    WHEN lexeme ~ '^-?[0-9]+$' THEN ARRAY[ltrim(lexeme, '-'), '-' || ltrim(lexeme, '-')]
                    ELSE coalesce(
                        (SELECT known.forms FROM mnemic.word_forms AS known WHERE known.word = lexeme), ARRAY[lexeme]
                    )
                END AS forms
            FROM unnest(to_tsvector('english', query))
        ) AS found
        GROUP BY found.forms;
        RETURN;
    END IF;
    RETURN QUERY
    WITH stem AS MATERIALIZED (
        SELECT found.lexeme, at.place
        FROM unnest(to_tsvector(in_language::regconfig, query)) AS found
        CROSS JOIN LATERAL unnest(found.positions) AS at (place)
    ),
    english AS MATERIALIZED (
        SELECT found.lexeme, at.place
        FROM unnest(to_tsvector('english', query)) AS found CROSS JOIN LATERAL unnest(found.positions) AS at (place)
    ),
    written AS MATERIALIZED (
        SELECT found.lexeme, at.place
        FROM unnest(to_tsvector('simple', query)) AS found CROSS JOIN LATERAL unnest(found.positions) AS at (place)
    )
    SELECT
        stem.lexeme, min(stem.place)::int,
        coalesce(array_agg(DISTINCT english.lexeme) FILTER (WHERE english.lexeme IS NOT NULL), '{}'),
        coalesce(array_agg(DISTINCT beginning.prefix) FILTER (WHERE char_length(beginning.prefix) >= prefix_min), '{}')
    FROM stem
    LEFT JOIN english ON english.place = stem.place
    LEFT JOIN written ON written.place = stem.place
    -- A stem may lack the accents of the word: haus, Häuser.
    CROSS JOIN LATERAL (
        VALUES
        (CASE WHEN char_length(stem.lexeme) >= prefix_min THEN stem.lexeme ELSE written.lexeme END),
        (CASE WHEN NOT starts_with(written.lexeme, stem.lexeme) THEN left(written.lexeme, char_length(stem.lexeme)) END)
    ) AS beginning (prefix)
    WHERE coalesce(written.lexeme, '') <> ALL (question_words)
    GROUP BY stem.lexeme;
END
$$;
