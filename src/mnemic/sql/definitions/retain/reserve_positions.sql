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
    kept_channel text;
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
    RETURNING kept.turn_count, kept.channel INTO end_position, kept_channel;
    -- A conversation lies on one side of a fork: its positions and counts would tell the other side about its turns.
    IF kept_channel <> in_channel AND EXISTS (
        SELECT FROM state.branches
        WHERE branches.tenant_id = entered AND branches.owner = for_owner
          AND branches.channel IN (kept_channel, in_channel) AND branches.state = 'open'
    ) THEN
        RAISE invalid_parameter_value USING MESSAGE =
            'this conversation is on the other side of a fork: give the one in the branch another name';
    END IF;
    RETURN end_position - turns;
END
$$;
