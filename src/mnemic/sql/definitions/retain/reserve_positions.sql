-- Creates a conversation or extends it by some turns; returns the position of the first of them. The row stays locked
-- until the transaction ends, so that positions have no gaps.
CREATE OR REPLACE FUNCTION mnemic.reserve_positions(
    entered uuid, for_owner text, in_channel text, in_conversation text, turns int, first_at timestamptz,
    last_at timestamptz
) RETURNS int
LANGUAGE plpgsql
AS $$
DECLARE
    end_position int;
BEGIN
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
    RETURNING kept.turn_count INTO end_position;
    RETURN end_position - turns;
END
$$;
