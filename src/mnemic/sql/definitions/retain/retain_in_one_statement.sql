-- A whole retain call of one batch in one statement: the turns of at most one conversation, the memories, and the
-- row in the memory log. Positions of turns count from the first free one. The calling statement stores the
-- vectors afterwards, in the table that it names, so that its plan can be kept. Returns:
--   stored  everything is stored
--   known   an item is known already and must be reinforced
--   more    the ordinary transaction is needed: the owner has names that may be mentioned, another vector table
--           is in use, or it can report an error better
-- In the last two cases nothing is written.
CREATE OR REPLACE FUNCTION mnemic.retain_in_one_statement(
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
    -- Fixed lock order to avoid deadlocks, here as everywhere: model, conversation, mentions.
    PERFORM pg_advisory_xact_lock_shared(mnemic.model_lock_key());
    IF in_conversation IS NULL THEN
        PERFORM pg_advisory_xact_lock_shared(mnemic.mentions_lock_key(for_owner));
    END IF;
    -- Check before writing anything: keep a failed fast path cheap for owners who have entities.
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
    ELSIF in_conversation IS NOT NULL AND mnemic.lock_mentions_shared(for_owner) THEN
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
    -- The writes are rolled back; variables keep their values.
    WHEN SQLSTATE 'MN001' THEN RETURN outcome;
    -- The log has no partition for the day yet, or a row is invalid.
    WHEN check_violation THEN RETURN 'more';
END
$$;
