-- The spend account of a tenant, locked until the transaction ends and brought to the current day: on a new day, and after
-- the clock was changed, the sums are those of the ledger. Everything that changes the ledger locks the account first, so
-- that there are no deadlocks.
CREATE OR REPLACE FUNCTION mnemic.spend_account(entered uuid) RETURNS state.spend_accounts
LANGUAGE plpgsql
AS $$
DECLARE
    utc_now CONSTANT timestamp := clock_timestamp() AT TIME ZONE 'UTC';
    today CONSTANT date := utc_now::date;
    this_month CONSTANT date := date_trunc('month', utc_now)::date;
    account state.spend_accounts;
BEGIN
    SELECT * INTO account FROM state.spend_accounts WHERE tenant_id = entered FOR UPDATE;
    IF NOT FOUND THEN
        INSERT INTO state.spend_accounts (tenant_id, day, month) VALUES (entered, today, this_month)
        ON CONFLICT DO NOTHING;
        SELECT * INTO account FROM state.spend_accounts WHERE tenant_id = entered FOR UPDATE;
    END IF;
    IF account.day <> today THEN
        UPDATE state.spend_accounts
        SET day = today, month = this_month,
            day_spent_microdollars = mnemic.spent_since(entered, today),
            month_spent_microdollars = mnemic.spent_since(entered, this_month)
        WHERE tenant_id = entered
        RETURNING * INTO account;
    END IF;
    RETURN account;
END
$$;
