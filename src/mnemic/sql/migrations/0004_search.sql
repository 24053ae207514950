-- Word counts of owners that have too many memories to count at query time. They are refreshed now and then; outdated
-- counts only make ranking slightly worse. They are in `vectors`, like everything that is derived from memories for searching.
CREATE TABLE vectors.owner_statistics (
    tenant_id uuid NOT NULL REFERENCES state.tenants,
    owner text NOT NULL CHECK (char_length(owner) BETWEEN 1 AND 256),
    memory_count int NOT NULL CHECK (memory_count >= 0),
    mean_bytes real NOT NULL CHECK (mean_bytes >= 0),
    -- A random sample of memories.
    sample uuid[] NOT NULL,
    refreshed_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, owner)
);
COMMENT ON TABLE vectors.owner_statistics IS 'How many memories large owners have; made from the memories.';
CALL mnemic.protect('vectors.owner_statistics');

CREATE TABLE vectors.word_statistics (
    tenant_id uuid NOT NULL,
    owner text NOT NULL,
    word text NOT NULL,
    memory_count int NOT NULL CHECK (memory_count > 0),
    PRIMARY KEY (tenant_id, owner, word),
    FOREIGN KEY (tenant_id, owner) REFERENCES vectors.owner_statistics ON DELETE CASCADE
);
COMMENT ON TABLE vectors.word_statistics IS 'In how many memories of large owners words occur.';
CALL mnemic.protect('vectors.word_statistics', 'SELECT, INSERT, DELETE');

-- Query expansion: irregular forms of a word, which the stemmer does not unify. It maps "painted" to "paint" but not "bought"
-- to "buy", and a question asks with one form ("did she buy") what a memory says with the other ("I bought"). A word of a
-- query is searched in all of its forms as one term. Common short forms are included; forms that are also other words
-- ("rose", "lay", "bit", "leaves") are not.
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

-- The filter of a recall. NULL matches everything; a memory needs all of `tags` and one of `any_tags`. `moment` is now, or the
-- time in the past that the query is about; then `valid_at_moment` is set, and only memories valid at that time match.
CREATE TYPE mnemic.recall_filter AS (
    channels text[],
    categories text[],
    tags text[],
    any_tags text[],
    conversation text,
    since timestamptz,
    until timestamptz,
    min_confidence real,
    statuses text[],
    moment timestamptz,
    valid_at_moment boolean
);
