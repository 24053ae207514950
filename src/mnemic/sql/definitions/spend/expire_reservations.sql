-- Returns reservations whose lease has ended to the account, which the caller has locked; returns how many.
CREATE OR REPLACE FUNCTION mnemic.expire_reservations(entered uuid) RETURNS bigint
LANGUAGE plpgsql
AS $$
DECLARE
    expired_count bigint;
BEGIN
    WITH expired AS (
        UPDATE traces.model_calls SET state = 'expired'
        WHERE tenant_id = entered AND state = 'reserved' AND leased_until < clock_timestamp()
        RETURNING reserved_microdollars
    ),
    returned AS (SELECT count(*) AS calls, coalesce(sum(reserved_microdollars), 0) AS microdollars FROM expired),
    updated AS (
        UPDATE state.spend_accounts SET reserved_microdollars = reserved_microdollars - returned.microdollars
        FROM returned WHERE tenant_id = entered AND returned.calls > 0
    )
    SELECT calls INTO expired_count FROM returned;
    RETURN expired_count;
END
$$;
