-- Reserves the worst case of a call, if it fits below all caps; otherwise the call must not be made. Returns the id of the
-- reserved call, or NULL and why: `refused_by` is day, month or total (the cap that is too low), or price (there is a cap,
-- and the price of the model is not known). `operator_cap` is a cap per day that the tenant cannot raise.
CREATE OR REPLACE FUNCTION mnemic.reserve_spend(
    entered uuid, for_purpose text, of_model text, input_max bigint, output_max bigint, given_microdollars bigint,
    operator_cap bigint, lease_s double precision
) RETURNS TABLE (
    call_id uuid, refused_by text, cap_microdollars bigint, used_microdollars numeric, needed_microdollars bigint
)
LANGUAGE plpgsql
AS $$
#variable_conflict use_column
DECLARE
    needed CONSTANT bigint := mnemic.priced_call(entered, of_model, input_max, output_max, given_microdollars);
    account state.spend_accounts := mnemic.spend_account(entered);
    is_reserved boolean := false;
    reserved_id uuid;
BEGIN
    FOR attempt IN 1..2 LOOP
        UPDATE state.spend_accounts
        SET reserved_microdollars = reserved_microdollars + coalesce(needed, 0)
        WHERE tenant_id = entered
          AND CASE
              WHEN needed IS NULL THEN
                  coalesce(day_cap_microdollars, month_cap_microdollars, total_cap_microdollars, operator_cap) IS NULL
              ELSE
                  coalesce(
                      day_spent_microdollars + reserved_microdollars + needed <= least(day_cap_microdollars, operator_cap),
                      true
                  )
                  AND coalesce(month_spent_microdollars + reserved_microdollars + needed <= month_cap_microdollars, true)
                  AND coalesce(total_spent_microdollars + reserved_microdollars + needed <= total_cap_microdollars, true)
          END;
        is_reserved := FOUND;
        EXIT WHEN is_reserved OR needed IS NULL OR mnemic.expire_reservations(entered) = 0;
    END LOOP;
    IF is_reserved THEN
        INSERT INTO traces.model_calls (tenant_id, purpose, model, is_price_known, reserved_microdollars, leased_until)
        VALUES (
            entered, for_purpose, of_model, needed IS NOT NULL, coalesce(needed, 0),
            clock_timestamp() + make_interval(secs => lease_s)
        )
        RETURNING model_calls.call_id INTO reserved_id;
        RETURN QUERY SELECT reserved_id, NULL::text, NULL::bigint, NULL::numeric, needed;
        RETURN;
    END IF;
    account := mnemic.spend_account(entered);
    RETURN QUERY
    SELECT NULL::uuid, refusing.name, refusing.cap, refusing.used + account.reserved_microdollars, needed
    FROM (
        VALUES
            ('total', account.total_cap_microdollars, account.total_spent_microdollars, 1),
            ('month', account.month_cap_microdollars, account.month_spent_microdollars, 2),
            ('day', least(account.day_cap_microdollars, operator_cap), account.day_spent_microdollars, 3),
            ('price', 0, 0, 4)
    ) AS refusing (name, cap, used, place)
    -- The cap that lasts longest, if several are too low.
    WHERE CASE WHEN needed IS NULL THEN refusing.name = 'price'
          ELSE refusing.name <> 'price' AND refusing.used + account.reserved_microdollars + needed > refusing.cap END
    ORDER BY refusing.place
    LIMIT 1;
END
$$;
