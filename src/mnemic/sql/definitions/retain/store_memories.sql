-- Stores a batch and returns the ids of the new rows. `firsts` has the first row of each item, `others` the
-- further chunks of long texts, which are stored if their first one is. `ids` and `embeddings` are the vectors of
-- all rows, NULL if they are made later. If another model serves the tenant, it stores nothing and returns NULL.
CREATE OR REPLACE FUNCTION mnemic.store_memories(
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
        -- Before any row is locked: a change of model waits for all writers.
        SELECT used.table_name, used.next_table_name INTO serving
        FROM mnemic.vector_tables_in_use() AS used
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
