-- Forms of one word that the stemmer does not bring together. It takes endings off, which brings "painted" to "paint" and
-- leaves "bought" beside "buy"; and a question asks with the one ("did she buy") what was told with the other ("I
-- bought"). So a word of a query is looked up in all of its forms, as one term. Short forms of a word that everybody uses
-- are among them. Left out are forms that are other words, too: "rose", "lay", "bit", "leaves".

CREATE TABLE mnemic.word_forms (
    word text PRIMARY KEY,
    forms text[] NOT NULL CHECK (word = ANY (forms))
);
COMMENT ON TABLE mnemic.word_forms IS 'English words, as they are indexed, and all forms of each.';
GRANT SELECT ON mnemic.word_forms TO mnemic_app;

INSERT INTO mnemic.word_forms (word, forms)
SELECT unnest(tsvector_to_array(to_tsvector('english', family))), tsvector_to_array(to_tsvector('english', family))
FROM unnest(string_to_array(
    'become became,begin began begun,bend bent,bite bitten,blow blew blown,break broke broken,bring brought,build built,'
    'burn burnt,buy bought,catch caught,choose chose chosen,come came,creep crept,deal dealt,dig dug,draw drew drawn,'
    'dream dreamt,drink drank drunk,drive drove driven,eat ate eaten,fall fell fallen,feed fed,feel felt,fight fought,'
    'find found,flee fled,fly flew flown,forget forgot forgotten,forgive forgave forgiven,freeze froze frozen,'
    'get got gotten,give gave given,go goes went gone,grow grew grown,hang hung,hear heard,hide hid hidden,hold held,'
    'keep kept,know knew known,lead led,learn learnt,leave left,lend lent,lose lost,make made,mean meant,meet met,'
    'overcome overcame,pay paid,ride rode ridden,ring rang rung,run ran,say said,see saw seen,seek sought,sell sold,'
    'send sent,sew sewn,shake shook shaken,shoot shot,show shown,shrink shrank shrunk,sing sang sung,sink sank sunk,'
    'sit sat,sleep slept,speak spoke spoken,spend spent,spin spun,stand stood,steal stole stolen,stick stuck,sting stung,'
    'strike struck,swear swore sworn,sweep swept,swim swam swum,swing swung,take took taken,teach taught,tear tore torn,'
    'tell told,think thought,throw threw thrown,understand understood,undertake undertook undertaken,wake woke woken,'
    'wear wore worn,weep wept,win won,withdraw withdrew withdrawn,write wrote written,'
    'child children kid,foot feet,goose geese,grandchild grandchildren grandkid,half halves,knife knives,loaf loaves,'
    'man men,mouse mice,person people,scarf scarves,shelf shelves,thief thieves,tooth teeth,wife wives,wolf wolves,'
    'woman women,'
    'ad advertisement,airplane aeroplane plane,bike bicycle,color colour,cozy cosy,dad daddy father,exam examination,'
    'favorite favourite,fridge refrigerator,grandma grandmother granny,grandpa grandfather,gray grey,gym gymnasium,'
    'jewelry jewellery,lab laboratory,math mathematics,mom mommy mother mum,neighbor neighbour,pajamas pyjamas,'
    'phone telephone,photo photograph,theater theatre,tv television,vet veterinarian', ','
)) AS listed (family);

CREATE OR REPLACE FUNCTION mnemic.recall_terms(
    of_tenant uuid, wanted_owner text, query text, phrases text[], count_max int, statistics_age interval
)
RETURNS TABLE (
    lexemes text[], terms text[], counts int[], phrase_terms text[], kept_count int, mean_bytes real, is_stale boolean,
    counted bigint, has_entities boolean, has_grants boolean, model text, table_name text, dimensions int
)
LANGUAGE plpgsql STABLE ROWS 1
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
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
        EXISTS (SELECT FROM state.grants WHERE grants.granted_to = wanted_owner AND grants.revoked_at IS NULL),
        serving.model, serving.table_name, serving.dimensions
    FROM (
        SELECT
            coalesce(array_agg(looked_up.word ORDER BY looked_up.place, looked_up.word), '{}') AS lexemes,
            coalesce(array_agg(
                (
                    -- In brackets, since terms may be searched for together.
                    SELECT '(' || string_agg(strip(array_to_tsvector(ARRAY[form]))::text, ' | ') || ')'
                    FROM unnest(looked_up.forms) AS form
                ) ORDER BY looked_up.place, looked_up.word
            ), '{}') AS terms,
            -- A sub-select for each form is one look by key; a join might read all words of the owner.
            coalesce(array_agg(
                (
                    SELECT sum((
                        SELECT listed.memory_count FROM vectors.word_statistics AS listed
                        WHERE listed.tenant_id = of_tenant AND listed.owner = wanted_owner AND listed.word = form
                    ))::int
                    FROM unnest(looked_up.forms) AS form
                ) ORDER BY looked_up.place, looked_up.word
            ), '{}') AS counts
        FROM (
            -- Two forms of one word are one term.
            SELECT min(found.lexeme) AS word, min(found.positions[1]) AS place, found.forms
            FROM (
                SELECT
                    lexeme, positions,
                    coalesce((SELECT known.forms FROM mnemic.word_forms AS known WHERE known.word = lexeme), ARRAY[lexeme])
                        AS forms
                FROM unnest(to_tsvector('english', query))
            ) AS found
            GROUP BY found.forms
        ) AS looked_up
    ) AS query_words
    LEFT JOIN vectors.owner_statistics AS kept ON kept.owner = wanted_owner
    LEFT JOIN (
        vectors.tenant_models AS used JOIN mnemic.vector_models AS serving ON serving.model = used.model
    ) ON true;
END
$$;
