-- Stores the memories of a batch, without their vectors, and returns the ids of the rows that were new. `firsts` has the first
-- row of each item; `others` has the further chunks of long texts, which are stored if their first one is new. While the
-- embedding model is being changed (`is_changing_model`), the new memories are listed for the next model.
CREATE OR REPLACE FUNCTION mnemic.store_memories(
    entered uuid, for_owner text, in_channel text, by_process text,
    firsts json, others json, first_position int, positions int[], other_positions int[], is_changing_model boolean
) RETURNS uuid[]
LANGUAGE plpgsql
AS $$
DECLARE
    stored uuid[] := mnemic.insert_memories(
        entered, for_owner, in_channel, by_process, firsts, first_position, positions, NULL
    );
BEGIN
    IF others IS NOT NULL AND stored <> '{}' THEN
        stored := stored || mnemic.insert_memories(
            entered, for_owner, in_channel, by_process, others, first_position, other_positions, stored
        );
    END IF;
    IF is_changing_model THEN
        INSERT INTO queue.reembedding (tenant_id, memory_id)
        SELECT entered, given.memory_id FROM unnest(stored) AS given (memory_id) ORDER BY given.memory_id
        ON CONFLICT DO NOTHING;
    END IF;
    RETURN stored;
END
$$;
