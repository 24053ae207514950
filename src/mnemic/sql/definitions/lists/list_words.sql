-- Words as a query of the text index: all of them must occur. A word that ends in an asterisk stands for all words that begin
-- so. Without a word that is indexed (the, of), the query is empty and matches nothing.
CREATE OR REPLACE FUNCTION mnemic.list_words(words text) RETURNS tsquery
LANGUAGE plpgsql STABLE STRICT
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    word text;
    beginning text;
    wanted tsquery := '';
BEGIN
    FOREACH word IN ARRAY regexp_split_to_array(btrim(words), '\s+') LOOP
        beginning := regexp_replace(word, '[^[:alnum:]]', '', 'g');
        IF word LIKE '%*' AND beginning <> '' THEN
            wanted := wanted && to_tsquery('simple', beginning || ':*');
        ELSE
            wanted := wanted && plainto_tsquery('english', word);
        END IF;
    END LOOP;
    RETURN wanted;
END
$$;
GRANT EXECUTE ON FUNCTION mnemic.list_words(text) TO mnemic_definer;
