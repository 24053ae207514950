-- Memories that look alike are found later, and not while they are stored (docs/adr/0018-compared-later.md); and what is
-- left of storing them takes less.
--
-- A memory is *waiting*, in queue.uncompared, from the moment it is stored, until `mnemic.compare_memories` has
-- compared it with those of its owner that stand near it. It waits in a row that is committed with it, so that none is
-- missed, however late its transaction ends; and comparing takes the row away in the transaction that links what it
-- found, so that it may be killed at any time.

CREATE TABLE queue.uncompared (
    tenant_id uuid NOT NULL,
    owner text NOT NULL,
    memory_id uuid NOT NULL,
    PRIMARY KEY (tenant_id, owner, memory_id)
);
COMMENT ON TABLE queue.uncompared IS 'Memories that were not yet compared with others of their owner.';
CALL mnemic.protect('queue.uncompared', 'SELECT, INSERT, DELETE');
-- As with the inbox of events: only the trigger below writes as mnemic_definer, for a row that has just passed the policy of
-- its own table.
CREATE POLICY told_by_triggers ON queue.uncompared FOR INSERT TO mnemic_definer WITH CHECK (true);

-- Telling about memories, as in migration 0013; new ones wait to be compared from then on. There is no reference to the
-- memory: one that is gone by then is not found, and its row goes as well.
CREATE OR REPLACE FUNCTION mnemic.tell_memories() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF TG_OP = 'DELETE' AND mnemic.verified('maintenance') IS NOT NULL THEN
        RETURN NULL;
    END IF;
    INSERT INTO queue.event_inbox (tenant_id, owner, type, subject, data)
    SELECT tenant_id, owner, TG_ARGV[0], memory_id,
        mnemic.memory_told(channel, category, conversation, version, status)
    FROM told;
    IF FOUND THEN
        PERFORM mnemic.hint('events');
        IF TG_OP = 'INSERT' THEN
            INSERT INTO queue.uncompared (tenant_id, owner, memory_id)
            SELECT tenant_id, owner, memory_id FROM told
            ON CONFLICT DO NOTHING;
        END IF;
    END IF;
    RETURN NULL;
END
$$;

-- Compares some of an owner's memories that wait, the oldest first, and returns how many those were; 0 if none waits. Each is
-- linked to the one that is most like it, if that is like enough, among the owner's `before_most` that are next older. Of the
-- `after_most` that are next younger those count that do not wait: they were compared before this one could be
-- seen, since its transaction ended late. The others will meet it themselves. It runs with the caller's rights, behind the
-- tenant's policy, and has no search path of its own: pgvector's operators are wherever an administrator put them.
CREATE FUNCTION mnemic.compare_memories(
    entered uuid, for_owner text, alike_from float8, before_most int, after_most int, most int
) RETURNS int
LANGUAGE plpgsql
AS $$
DECLARE
    -- The product of two vectors of length one is their cosine, but for what 16 bits lose, and it takes half the time.
    -- So it chooses who is looked at, generously, and the cosine decides.
    rounding CONSTANT float8 := 0.005;
    vector_table text := (SELECT used.table_name FROM mnemic.vectors_in_use() AS used);
    ids uuid[];
BEGIN
    -- One at a time for an owner: of two that compare at once each could take for granted that the other sees a memory. Each
    -- statement behind the lock sees what was committed before it.
    PERFORM pg_advisory_xact_lock(hashtextextended('mnemic.comparing ' || entered || ' ' || for_owner, 0));
    ids := ARRAY(
        SELECT waiting.memory_id FROM queue.uncompared AS waiting
        WHERE waiting.owner = for_owner ORDER BY waiting.memory_id LIMIT most
    );
    IF ids <> '{}' AND vector_table IS NOT NULL THEN
        EXECUTE format(
            'WITH pairs AS MATERIALIZED ('
            '  SELECT greatest(given.memory_id, most_alike.memory_id) AS memory_id,'
            '    least(given.memory_id, most_alike.memory_id) AS like_id, max(most_alike.similarity) AS similarity'
            '  FROM unnest($1) AS given (memory_id)'
            '  CROSS JOIN LATERAL ('
            '    SELECT embedding FROM vectors.%1$I AS stored WHERE stored.memory_id = given.memory_id LIMIT 1'
            '  ) AS own'
            '  CROSS JOIN LATERAL ('
            '    SELECT near.memory_id, 1 - (near.embedding <=> own.embedding) AS similarity'
            '    FROM ('
            '      (SELECT memory_id, embedding, false AS is_younger FROM vectors.%1$I'
            '       WHERE owner = $2 AND memory_id < given.memory_id ORDER BY memory_id DESC LIMIT $3)'
            '      UNION ALL'
            '      (SELECT memory_id, embedding, true FROM vectors.%1$I'
            '       WHERE owner = $2 AND memory_id > given.memory_id ORDER BY memory_id LIMIT $4)'
            '    ) AS near'
            '    WHERE near.embedding <#> own.embedding <= $5'
            '      AND (NOT near.is_younger OR ('
            '        SELECT waiting.memory_id FROM queue.uncompared AS waiting'
            '        WHERE waiting.owner = $2 AND waiting.memory_id = near.memory_id'
            '      ) IS NULL)'
            '    ORDER BY near.embedding <=> own.embedding LIMIT 1'
            '  ) AS most_alike'
            '  WHERE most_alike.similarity >= $6'
            '  GROUP BY 1, 2'
            ') '
            'INSERT INTO state.near_duplicates (tenant_id, memory_id, like_id, similarity)'
            ' SELECT $7, pairs.memory_id, pairs.like_id, least(1, pairs.similarity)'
            ' FROM pairs'
            ' JOIN state.memories AS newer ON newer.memory_id = pairs.memory_id'
            ' JOIN state.memories AS older ON older.memory_id = pairs.like_id'
            -- What is being erased at this moment is waited for, and then is not there.
            ' FOR KEY SHARE OF newer, older'
            ' ON CONFLICT DO NOTHING',
            vector_table
        )
        USING ids, for_owner, before_most, after_most, rounding - alike_from, alike_from, entered;
    END IF;
    DELETE FROM queue.uncompared AS waiting WHERE waiting.owner = for_owner AND waiting.memory_id = ANY (ids);
    RETURN cardinality(ids);
END
$$;

DROP FUNCTION mnemic.retain_alone(
    uuid, text, text, text, json, json, int[], int[], text, uuid[], anyarray, float8, int,
    text, int, timestamptz, timestamptz, boolean, traces.memory_log
);
DROP FUNCTION mnemic.store_memories(
    uuid, text, text, text, json, json, int, int[], int[], text, uuid[], anyarray, float8, int
);
DROP FUNCTION mnemic.insert_vectors(uuid, text, text, uuid[], anyarray, float8, int);

-- Stores vectors in the table of a model.
CREATE FUNCTION mnemic.insert_vectors(
    entered uuid, for_owner text, vector_table text, ids uuid[], embeddings anyarray
) RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
    EXECUTE format(
        'INSERT INTO vectors.%I (tenant_id, memory_id, owner, embedding)'
        ' SELECT $1, given.memory_id, $2, given.embedding FROM unnest($3, $4) AS given (memory_id, embedding)',
        vector_table
    )
    USING entered, for_owner, ids, embeddings;
END
$$;

-- Stores a batch, as in migration 0023, and compares nothing.
CREATE FUNCTION mnemic.store_memories(
    entered uuid, for_owner text, in_channel text, by_process text,
    firsts json, others json, first_place int, places int[], other_places int[],
    by_model text, ids uuid[], embeddings anyarray
) RETURNS uuid[]
LANGUAGE plpgsql
AS $$
DECLARE
    serving record;
    stored uuid[];
BEGIN
    IF ids IS NOT NULL THEN
        -- Asked before anything is locked: who changes the model waits for all writers.
        SELECT used.table_name, used.next_table_name INTO serving
        FROM mnemic.vectors_in_use() AS used
        WHERE used.model = by_model AND used.dimensions = vector_dims(embeddings[1]);
        IF NOT FOUND THEN
            RETURN NULL;
        END IF;
    END IF;

    stored := mnemic.insert_memories(
        entered, for_owner, in_channel, by_process, firsts, first_place, places, NULL
    );
    IF others IS NOT NULL AND stored <> '{}' THEN
        stored := stored || mnemic.insert_memories(
            entered, for_owner, in_channel, by_process, others, first_place, other_places, stored
        );
    END IF;
    IF ids IS NULL OR stored = '{}' THEN
        RETURN stored;
    END IF;

    IF cardinality(stored) < cardinality(ids) THEN
        SELECT array_agg(given.memory_id), array_agg(given.embedding) INTO ids, embeddings
        FROM unnest(ids, embeddings) AS given (memory_id, embedding)
        WHERE given.memory_id = ANY (stored);
    END IF;
    PERFORM mnemic.insert_vectors(entered, for_owner, serving.table_name, ids, embeddings);
    IF serving.next_table_name IS NOT NULL THEN
        INSERT INTO queue.reembedding (tenant_id, memory_id)
        SELECT entered, given.memory_id FROM unnest(stored) AS given (memory_id) ORDER BY given.memory_id
        ON CONFLICT DO NOTHING;
    END IF;
    RETURN stored;
END
$$;

-- Verifying and entering, as in migrations 0001 and 0011. The key is read by a statement without parameters, whose plan is
-- kept, and entering reads it once; what is assigned or compared is evaluated without a statement of its own.
CREATE OR REPLACE FUNCTION mnemic.verified(purpose text) RETURNS text
LANGUAGE plpgsql STABLE STRICT PARALLEL RESTRICTED SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    stated text := current_setting('mnemic.' || purpose, true);
    proof text := current_setting('mnemic.' || purpose || '_proof', true);
    inner_block bytea;
    outer_block bytea;
BEGIN
    SELECT known.inner_block, known.outer_block INTO inner_block, outer_block FROM mnemic.signing_key AS known;
    -- Hashed once more before they are compared, so that the time it takes tells nothing.
    IF sha256(convert_to(proof, 'UTF8')) = sha256(convert_to(encode(sha256(outer_block || sha256(
        inner_block || convert_to(purpose || E'\n' || stated || E'\n' || mnemic.moment(), 'UTF8')
    )), 'hex'), 'UTF8')) THEN
        RETURN stated;
    END IF;
    RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION mnemic.enter(tenant uuid, signed text) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    inner_block bytea;
    outer_block bytea;
    stated text;
BEGIN
    IF signed IS NOT NULL THEN
        SELECT known.inner_block, known.outer_block INTO inner_block, outer_block FROM mnemic.signing_key AS known;
        -- Hashed before they are compared, so that the time it takes tells nothing.
        IF (sha256(convert_to(signed, 'UTF8')) = sha256(convert_to(encode(sha256(outer_block || sha256(
            inner_block || convert_to('enter' || E'\n' || tenant || E'\n' || mnemic.process(), 'UTF8')
        )), 'hex'), 'UTF8'))) IS NOT TRUE THEN
            RAISE insufficient_privilege USING MESSAGE = 'the signature does not hold for this tenant';
        END IF;
        stated := set_config('mnemic.tenant', tenant::text, true);
        stated := set_config('mnemic.tenant_proof', encode(sha256(outer_block || sha256(
            inner_block || convert_to('tenant' || E'\n' || tenant || E'\n' || mnemic.moment(), 'UTF8')
        )), 'hex'), true);
    END IF;
    RETURN tenant;
END
$$;

-- A whole call of one batch, as in migration 0023, but for its vectors: the statement that calls this stores them behind it,
-- in the table that it names, so that its plan can be kept. Returns what became of the call:
--   stored  all of it is stored
--   known   an item is known already, so that there is something to reinforce
--   more    the owner has names that may be mentioned, other vectors serve, or a transaction can say better what is wrong
-- In the last two cases it leaves nothing.
CREATE FUNCTION mnemic.retain_alone(
    entered uuid, for_owner text, in_channel text, by_process text,
    firsts json, others json, places int[], other_places int[], row_count int,
    by_model text, with_dimensions int, vector_table text,
    in_conversation text, turns int, first_at timestamptz, last_at timestamptz,
    is_logged boolean, entry traces.memory_log
) RETURNS text
LANGUAGE plpgsql
AS $$
DECLARE
    serving record;
    first_place int := 0;
    stored uuid[];
    outcome text := 'stored';
BEGIN
    -- The lock of the model comes before that of the conversation, and that before the one of mentions, here as everywhere.
    PERFORM pg_advisory_xact_lock_shared(mnemic.model_lock());
    IF in_conversation IS NULL THEN
        PERFORM pg_advisory_xact_lock_shared(mnemic.mentions_lock(for_owner));
    END IF;
    -- Before anything is written, for owners who always have names.
    SELECT used.next_model, EXISTS (SELECT FROM state.entity_names WHERE entity_names.owner = for_owner) AS has_names
    INTO serving
    FROM vectors.tenant_models AS used JOIN mnemic.vector_models AS known ON known.model = used.model
    WHERE used.model = by_model AND known.dimensions = with_dimensions AND known.table_name = vector_table;
    IF serving.has_names IS NOT FALSE THEN
        RETURN 'more';
    END IF;
    IF in_conversation IS NOT NULL THEN
        INSERT INTO state.conversations AS kept (
            tenant_id, owner, conversation, channel, turn_count, started_at, last_turn_at
        )
        VALUES (
            entered, for_owner, in_conversation, in_channel, turns, coalesce(first_at, now()), coalesce(last_at, now())
        )
        ON CONFLICT (tenant_id, owner, conversation) DO UPDATE
        SET turn_count = kept.turn_count + excluded.turn_count,
            started_at = least(kept.started_at, excluded.started_at),
            last_turn_at = greatest(kept.last_turn_at, excluded.last_turn_at)
        RETURNING kept.turn_count - turns INTO first_place;
    END IF;
    stored := mnemic.insert_memories(entered, for_owner, in_channel, by_process, firsts, first_place, places, NULL);
    IF others IS NOT NULL THEN
        stored := stored || mnemic.insert_memories(
            entered, for_owner, in_channel, by_process, others, first_place, other_places, stored
        );
    END IF;
    IF cardinality(stored) < row_count THEN
        outcome := 'known';
    ELSIF in_conversation IS NOT NULL AND mnemic.share_mentions(for_owner) THEN
        outcome := 'more';
    END IF;
    IF outcome <> 'stored' THEN
        RAISE SQLSTATE 'MN001';
    END IF;
    IF serving.next_model IS NOT NULL THEN
        INSERT INTO queue.reembedding (tenant_id, memory_id)
        SELECT entered, given.memory_id FROM unnest(stored) AS given (memory_id) ORDER BY given.memory_id
        ON CONFLICT DO NOTHING;
    END IF;
    IF is_logged THEN
        entry.duration_ms := entry.duration_ms + extract(epoch FROM clock_timestamp() - statement_timestamp()) * 1000;
        INSERT INTO traces.memory_log VALUES (entry.*);
    END IF;
    RETURN outcome;
EXCEPTION
    -- What was written is undone, and only that: a variable keeps its value.
    WHEN SQLSTATE 'MN001' THEN RETURN outcome;
    -- The day has no partition in the log yet, or something is wrong with what is stored.
    WHEN check_violation THEN RETURN 'more';
END
$$;

-- The hash of a memory, and what tags are, as in migration 0002. PostgreSQL reads the body of a function in SQL anew for
-- each statement that writes a memory, to see whether it can be part of the statement, which these cannot.
CREATE OR REPLACE FUNCTION mnemic.content_hash(
    content text, category text, conversation text, "position" int, whole_hash bytea, chunk_index int
) RETURNS bytea
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
BEGIN
    RETURN sha256(convert_to(
        CASE WHEN category = 'episodic' AND conversation IS NOT NULL
            THEN 'turn' || E'\n' || conversation || E'\n' || "position" ELSE '' END
        || CASE WHEN whole_hash IS NOT NULL
            THEN 'chunk' || E'\n' || encode(whole_hash, 'hex') || E'\n' || chunk_index ELSE '' END
        || E'\n' || content,
        'UTF8'
    ));
END
$$;

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
