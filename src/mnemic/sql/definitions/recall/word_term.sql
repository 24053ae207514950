-- A tsquery for any of some indexed words, or for any word that begins with one of some prefixes; in brackets, because callers
-- combine such terms. NULL without any.
CREATE OR REPLACE FUNCTION mnemic.word_term(exact text[], prefixes text[]) RETURNS text
LANGUAGE sql IMMUTABLE
AS $$
    SELECT '(' || string_agg(strip(array_to_tsvector(ARRAY[form.word]))::text || form.suffix, ' | ') || ')'
    FROM (
        SELECT unnest(exact), ''
        UNION ALL
        SELECT unnest(prefixes), ':*'
    ) AS form (word, suffix)
$$;
