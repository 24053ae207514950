-- Storing memories: all that a batch consists of in one statement, and a whole call in one where it needs nothing else.
--
-- The functions run with the rights of whoever calls them, behind the tenant's policy. They have no search path of
-- their own: pgvector's operators are wherever an administrator put them, and Mnemic's connections look there.

-- Inserts rows, given as JSON, and returns the ids of those that were new. Turns stand at `places`, counted from
-- `first_place` on. With `wholes` only the chunks of those long texts are inserted.
CREATE FUNCTION mnemic.insert_memories(
    entered uuid, for_owner text, in_channel text, by_process text, items json, first_place int, places int[],
    wholes uuid[]
) RETURNS uuid[]
LANGUAGE plpgsql
AS $$
DECLARE
    stored uuid[];
BEGIN
    WITH fresh AS (
        INSERT INTO state.memories (
            tenant_id, memory_id, owner, channel, process, conversation, "position", role, name, content, category, tags,
            metadata, source, provenance, evidence, confidence, anchored, at, valid_from, valid_to, expires_at,
            whole_id, whole_hash, chunk_index, chunk_count, external_id, changed_by
        )
        SELECT
            entered, given.memory_id, for_owner, in_channel, by_process, given.conversation, first_place + given."position",
            given.role, given.name, given.content, given.category, coalesce(given.tags, '{}'), coalesce(given.metadata, '{}'),
            given.source, given.provenance, coalesce(given.evidence, '{}'), given.confidence, given.anchored, given.at,
            given.valid_from, given.valid_to, given.expires_at, given.whole_id, decode(given.whole_hash, 'hex'),
            given.chunk_index, given.chunk_count, given.external_id, 'user'
        FROM ROWS FROM (
            json_to_recordset(items) AS (
                memory_id uuid, conversation text, role text, name text, content text, category text, tags text[],
                metadata jsonb, source text, provenance text, evidence text[], confidence real, anchored boolean,
                at timestamptz, valid_from timestamptz, valid_to timestamptz, expires_at timestamptz,
                whole_id uuid, whole_hash text, chunk_index int, chunk_count int, external_id text
            ),
            unnest(places)
        ) AS given (
            memory_id, conversation, role, name, content, category, tags, metadata, source, provenance, evidence,
            confidence, anchored, at, valid_from, valid_to, expires_at, whole_id, whole_hash, chunk_index, chunk_count,
            external_id, "position"
        )
        WHERE wholes IS NULL OR given.whole_id = ANY (wholes)
        ON CONFLICT DO NOTHING
        RETURNING memories.memory_id
    )
    SELECT array_agg(fresh.memory_id) INTO stored FROM fresh;
    RETURN coalesce(stored, '{}');
END
$$;

-- The lock of an owner's mentions, as in migration 0005, but without verifying the tenant: who lies about it locks
-- nothing that he reads.
CREATE OR REPLACE FUNCTION mnemic.mentions_lock(wanted_owner text) RETURNS bigint
LANGUAGE sql STABLE
RETURN hashtextextended(
    'mnemic.mentions ' || coalesce(current_setting('mnemic.tenant', true), '') || ' ' || wanted_owner, 0
);

-- Stores vectors, and links each memory to the one that is most like it, if that is like enough: among the owner's newest
-- `compared_most`, and among those given. They are compared before they are stored, so that none meets itself.
CREATE FUNCTION mnemic.insert_vectors(
    entered uuid, for_owner text, vector_table text, ids uuid[], embeddings anyarray,
    alike_from float8, compared_most int
) RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
    -- The product of two vectors of length one is their cosine, but for what 16 bits lose, and it takes half the time.
    -- So it chooses who is looked at, generously, and the cosine decides.
    rounding CONSTANT float8 := 0.005;
    most_alike record;
    beside record;
BEGIN
    FOR place IN 1 .. CASE WHEN compared_most > 0 THEN cardinality(ids) ELSE 0 END LOOP
        EXECUTE format(
            'SELECT known.memory_id, 1 - (known.embedding <=> $1) AS similarity'
            ' FROM ('
            '   SELECT memory_id, embedding FROM vectors.%I WHERE owner = $2 ORDER BY memory_id DESC LIMIT $3'
            ' ) AS known'
            ' WHERE known.embedding <#> $1 <= $4'
            ' ORDER BY known.embedding <=> $1 LIMIT 1',
            vector_table
        )
        INTO most_alike
        USING embeddings[place], for_owner, compared_most, rounding - alike_from;
        -- Apart from the others, and not in a union with them: most calls have one row only.
        IF cardinality(ids) > 1 THEN
            SELECT given.memory_id, 1 - (given.embedding <=> embeddings[place]) AS similarity INTO beside
            FROM unnest(ids, embeddings) AS given (memory_id, embedding)
            WHERE given.memory_id <> ids[place]
            ORDER BY given.embedding <=> embeddings[place]
            LIMIT 1;
            IF beside.similarity > coalesce(most_alike.similarity, 0) THEN
                most_alike := beside;
            END IF;
        END IF;
        IF most_alike.similarity >= alike_from THEN
            -- The newer one is like the older one; two of a call that find each other are one pair.
            INSERT INTO state.near_duplicates (tenant_id, memory_id, like_id, similarity)
            VALUES (
                entered, greatest(ids[place], most_alike.memory_id), least(ids[place], most_alike.memory_id),
                least(1, most_alike.similarity)
            )
            ON CONFLICT DO NOTHING;
        END IF;
    END LOOP;
    EXECUTE format(
        'INSERT INTO vectors.%I (tenant_id, memory_id, owner, embedding)'
        ' SELECT $1, given.memory_id, $2, given.embedding FROM unnest($3, $4) AS given (memory_id, embedding)',
        vector_table
    )
    USING entered, for_owner, ids, embeddings;
END
$$;

-- Stores a batch and returns the ids of the rows that were new. `firsts` has the first row of each item, `others` those
-- that long texts have besides: they are stored if their first one is. `ids` and `embeddings` are the vectors of all rows,
-- NULL where they are to be made later. If another model serves the tenant, nothing is stored and NULL is returned.
CREATE FUNCTION mnemic.store_memories(
    entered uuid, for_owner text, in_channel text, by_process text,
    firsts json, others json, first_place int, places int[], other_places int[],
    by_model text, ids uuid[], embeddings anyarray, alike_from float8, compared_most int
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
    PERFORM mnemic.insert_vectors(
        entered, for_owner, serving.table_name, ids, embeddings, alike_from, compared_most
    );
    IF serving.next_table_name IS NOT NULL THEN
        INSERT INTO queue.reembedding (tenant_id, memory_id)
        SELECT entered, given.memory_id FROM unnest(stored) AS given (memory_id) ORDER BY given.memory_id
        ON CONFLICT DO NOTHING;
    END IF;
    RETURN stored;
END
$$;

-- A whole call of one batch, as one statement: the turns of at most one conversation, the batch, and its row in the
-- memory log. The places of turns count from the first free one. Returns what became of it:
--   stored  all of it is stored
--   known   an item is known already, so that there is something to reinforce
--   more    the owner has names that may be mentioned, or another model serves
-- In the last two cases it leaves nothing.
CREATE FUNCTION mnemic.retain_alone(
    entered uuid, for_owner text, in_channel text, by_process text,
    firsts json, others json, places int[], other_places int[],
    by_model text, ids uuid[], embeddings anyarray, alike_from float8, compared_most int,
    in_conversation text, turns int, first_at timestamptz, last_at timestamptz,
    is_logged boolean, entry traces.memory_log
) RETURNS text
LANGUAGE plpgsql
AS $$
DECLARE
    first_place int := 0;
    stored uuid[];
    outcome text := 'stored';
BEGIN
    -- Before anything is written, for owners of whom this is always so.
    IF EXISTS (SELECT FROM state.entity_names WHERE owner = for_owner) THEN
        RETURN 'more';
    END IF;
    IF in_conversation IS NOT NULL THEN
        -- The lock of the model comes before that of the conversation, here as everywhere.
        PERFORM pg_advisory_xact_lock_shared(mnemic.model_lock());
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
    stored := mnemic.store_memories(
        entered, for_owner, in_channel, by_process, firsts, others, first_place, places, other_places,
        by_model, ids, embeddings, alike_from, compared_most
    );
    IF cardinality(stored) < cardinality(ids) THEN
        outcome := 'known';
    ELSIF stored IS NULL OR mnemic.share_mentions(for_owner) THEN
        outcome := 'more';
    END IF;
    IF outcome <> 'stored' THEN
        RAISE SQLSTATE 'MN001';
    END IF;
    IF is_logged THEN
        entry.duration_ms := entry.duration_ms + extract(epoch FROM clock_timestamp() - statement_timestamp()) * 1000;
        PERFORM mnemic.write_memory_log(entry);
    END IF;
    RETURN outcome;
EXCEPTION
    -- What was written is undone, and only that: a variable keeps its value.
    WHEN SQLSTATE 'MN001' THEN RETURN outcome;
END
$$;
