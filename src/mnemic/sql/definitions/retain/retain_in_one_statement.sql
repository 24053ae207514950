-- Writes a whole call of one batch, without its vectors: the statement that calls this function inserts them, with the
-- name of their table in its text, so that its plan can be cached (`with_vectors` in mnemic/db/vectors.py).
--
-- `memory_ids` are the new memories. NULL means that nothing was stored, because the call needs a transaction:
--   * an item is known already, so that a memory has to be reinforced: `item_ids` and `known_ids` say which;
--   * the owner has entities, whose names the memories may mention;
--   * another embedding model serves the tenant.
CREATE OR REPLACE FUNCTION mnemic.retain_in_one_statement(
    entered uuid, for_owner text, in_channel text, by_process text,
    firsts json, others json, positions int[], other_positions int[], row_count int,
    by_model text, with_dimensions int, vector_table text,
    in_conversation text, turns int, first_at timestamptz, last_at timestamptz,
    is_logged boolean, entry traces.memory_log,
    OUT memory_ids uuid[], OUT item_ids uuid[], OUT known_ids uuid[], OUT forgotten_at timestamptz[]
)
LANGUAGE plpgsql
AS $$
DECLARE
    serving record;
    first_position int := 0;
BEGIN
    -- Lock the model, then the conversation, then the mentions: the same order as everywhere, to avoid deadlocks.
    PERFORM pg_advisory_xact_lock_shared(mnemic.model_lock_key());
    IF in_conversation IS NULL THEN
        PERFORM pg_advisory_xact_lock_shared(mnemic.mentions_lock_key(for_owner));
    END IF;
    -- Before anything is written: for an owner with entities every attempt fails here, which must be cheap.
    SELECT used.next_model, EXISTS (SELECT FROM state.entity_names WHERE entity_names.owner = for_owner) AS has_names
    INTO serving
    FROM vectors.tenant_models AS used JOIN mnemic.vector_models AS known ON known.model = used.model
    WHERE used.model = by_model AND known.dimensions = with_dimensions AND known.table_name = vector_table;
    IF serving.has_names IS NOT FALSE THEN
        RETURN;
    END IF;
    IF in_conversation IS NOT NULL THEN
        first_position := mnemic.reserve_positions(
            entered, for_owner, in_channel, in_conversation, turns, first_at, last_at
        );
    END IF;
    memory_ids := mnemic.store_memories(
        entered, for_owner, in_channel, by_process, firsts, others, first_position, positions, other_positions,
        serving.next_model IS NOT NULL
    );
    IF cardinality(memory_ids) < row_count THEN
        RAISE SQLSTATE 'MN001' USING MESSAGE = 'known';
    ELSIF in_conversation IS NOT NULL AND mnemic.lock_mentions_shared(for_owner) THEN
        RAISE SQLSTATE 'MN001' USING MESSAGE = 'names';
    END IF;
    IF is_logged THEN
        entry.duration_ms := entry.duration_ms + extract(epoch FROM clock_timestamp() - statement_timestamp()) * 1000;
        PERFORM mnemic.write_memory_log(entry);
    END IF;
EXCEPTION WHEN SQLSTATE 'MN001' THEN
    -- All rows that were written are rolled back.
    memory_ids := NULL;
    IF SQLERRM = 'known' THEN
        SELECT found.item_ids, found.known_ids, found.forgotten_at INTO item_ids, known_ids, forgotten_at
        FROM mnemic.known_items(entered, for_owner, in_channel, firsts) AS found;
    END IF;
END
$$;
