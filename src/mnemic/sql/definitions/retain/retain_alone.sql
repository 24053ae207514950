-- @@0023
-- A whole call of one batch, as one statement: the turns of at most one conversation, the batch, and its row in the
-- memory log. The places of turns count from the first free one. Returns what became of it:
--   stored  all of it is stored
--   known   an item is known already, so that there is something to reinforce
--   more    the owner has names that may be mentioned, or another model serves
-- In the last two cases it leaves nothing.
-- @@0026
-- A whole call of one batch, as in migration 0023, but for its vectors: the statement that calls this stores them behind it,
-- in the table that it names, so that its plan can be kept. Returns what became of the call:
--   stored  all of it is stored
--   known   an item is known already, so that there is something to reinforce
--   more    the owner has names that may be mentioned, other vectors serve, or a transaction can say better what is wrong
-- In the last two cases it leaves nothing.
CREATE OR REPLACE FUNCTION mnemic.retain_alone(
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
