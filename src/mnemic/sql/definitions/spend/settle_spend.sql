-- Ends a reserved call: counts its tokens and what it cost, by the tenant's own price or the given one. A NULL for the
-- tokens means that they are not known, as after a timeout: then it counts as its worst case. A call that `has_failed`
-- costs nothing. A call that has been settled before stays as it is; one that expired is settled. Returns what it cost,
-- or NULL if it was not settled.
CREATE OR REPLACE FUNCTION mnemic.settle_spend(
    entered uuid, settled_id uuid, used_input bigint, used_output bigint, given_microdollars bigint, has_failed boolean
) RETURNS bigint
LANGUAGE plpgsql
AS $$
DECLARE
    account state.spend_accounts := mnemic.spend_account(entered);
    called traces.model_calls;
    cost bigint;
BEGIN
    SELECT * INTO called FROM traces.model_calls
    WHERE tenant_id = entered AND call_id = settled_id AND state IN ('reserved', 'expired') FOR UPDATE;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    cost := CASE
        WHEN has_failed THEN 0
        WHEN used_input IS NULL THEN called.reserved_microdollars
        ELSE mnemic.priced_call(entered, called.model, used_input, used_output, given_microdollars)
    END;
    UPDATE traces.model_calls
    SET state = CASE WHEN has_failed THEN 'failed' ELSE 'settled' END,
        spent_microdollars = coalesce(cost, 0),
        is_price_known = CASE WHEN has_failed OR used_input IS NULL THEN is_price_known ELSE cost IS NOT NULL END,
        input_tokens = coalesce(used_input, 0), output_tokens = coalesce(used_output, 0)
    WHERE tenant_id = entered AND call_id = settled_id;
    UPDATE state.spend_accounts
    SET reserved_microdollars = reserved_microdollars
            - CASE called.state WHEN 'reserved' THEN called.reserved_microdollars ELSE 0 END,
        total_spent_microdollars = total_spent_microdollars + coalesce(cost, 0),
        month_spent_microdollars = month_spent_microdollars
            + CASE WHEN called.called_at >= account.month::timestamp AT TIME ZONE 'UTC' THEN coalesce(cost, 0) ELSE 0 END,
        day_spent_microdollars = day_spent_microdollars
            + CASE WHEN called.called_at >= account.day::timestamp AT TIME ZONE 'UTC' THEN coalesce(cost, 0) ELSE 0 END
    WHERE tenant_id = entered;
    RETURN cost;
END
$$;
