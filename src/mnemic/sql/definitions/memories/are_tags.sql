-- stage: before tables
-- Whether tags are in their stored form: 1 to 64 characters, trimmed, no ASCII capitals, no duplicates. Mnemic
-- lowers other letters itself, because the server's result depends on its locale. In PL/pgSQL for the same reason
-- as content_hash.
CREATE OR REPLACE FUNCTION mnemic.are_tags(tags text[]) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
BEGIN
    RETURN (
        SELECT count(DISTINCT tag) = cardinality(tags)
            AND coalesce(bool_and(char_length(tag) BETWEEN 1 AND 64 AND tag = btrim(tag) AND tag !~ '[A-Z]'), true)
        FROM unnest(tags) AS tag
    );
END
$$;
