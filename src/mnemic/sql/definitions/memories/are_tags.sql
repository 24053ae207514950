-- stage: before tables
-- Tags as they are stored: 1 to 64 characters, no blanks around, no capitals, none twice. Letters
-- beyond ASCII are lowered by Mnemic alone: how a server lowers them depends on its locale.
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
