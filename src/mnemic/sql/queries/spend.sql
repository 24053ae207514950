-- The spend ledger: calls of language models, what they cost, and caps. definitions/spend has the functions.

-- name: reserve
-- Reserves the worst case of a call; see mnemic.reserve_spend.
SELECT call_id, refused_by, cap_microdollars, used_microdollars, needed_microdollars
FROM mnemic.reserve_spend(
    %(tenant_id)s, %(purpose)s, %(model)s, %(input_tokens)s, %(output_tokens)s, %(microdollars)s::bigint,
    %(operator_cap)s::bigint, %(lease_s)s
)

-- name: settle
-- Ends a reserved call; see mnemic.settle_spend.
SELECT mnemic.settle_spend(
    %(tenant_id)s, %(call_id)s, %(input_tokens)s::bigint, %(output_tokens)s::bigint, %(microdollars)s::bigint,
    %(has_failed)s
) AS microdollars

-- name: expire
-- Returns reservations whose lease has ended to the account; returns how many.
SELECT mnemic.expire_reservations(tenant_id) AS expired_count FROM mnemic.spend_account(%(tenant_id)s)

-- name: account
-- The account with its caps, brought to the current day.
SELECT
    day_cap_microdollars, month_cap_microdollars, total_cap_microdollars, day_spent_microdollars,
    month_spent_microdollars, total_spent_microdollars, reserved_microdollars
FROM mnemic.spend_account(%(tenant_id)s)

-- name: set_cap
-- Sets or, with NULL, removes the cap of one period. The account must exist.
UPDATE state.spend_accounts
SET day_cap_microdollars = CASE %(period)s WHEN 'day' THEN %(cap)s::bigint ELSE day_cap_microdollars END,
    month_cap_microdollars = CASE %(period)s WHEN 'month' THEN %(cap)s::bigint ELSE month_cap_microdollars END,
    total_cap_microdollars = CASE %(period)s WHEN 'total' THEN %(cap)s::bigint ELSE total_cap_microdollars END
WHERE tenant_id = %(tenant_id)s

-- name: wake_parked_jobs
-- Lets jobs that a cap has parked run now; see mnemic.wake_parked_jobs.
SELECT mnemic.wake_parked_jobs() AS woken_count

-- name: summary
-- Calls by day, purpose and model, newest day first.
SELECT
    (called_at AT TIME ZONE 'UTC')::date AS day, purpose, model,
    count(*) AS call_count,
    count(*) FILTER (WHERE state = 'failed') AS failed_count,
    count(*) FILTER (WHERE NOT is_price_known AND state <> 'failed') AS unpriced_count,
    sum(input_tokens)::bigint AS input_tokens, sum(output_tokens)::bigint AS output_tokens,
    sum(spent_microdollars) AS microdollars
FROM traces.model_calls
WHERE tenant_id = %(tenant_id)s
  AND (%(since)s::timestamptz IS NULL OR called_at >= %(since)s::timestamptz)
  AND (%(until)s::timestamptz IS NULL OR called_at < %(until)s::timestamptz)
GROUP BY 1, 2, 3
ORDER BY 1 DESC, 2, 3
LIMIT %(limit)s

-- name: prices
-- The prices that the tenant set by hand.
SELECT model, input_usd, output_usd, set_at FROM state.model_prices
WHERE tenant_id = %(tenant_id)s ORDER BY model LIMIT %(limit)s

-- name: count_prices
-- How many prices the tenant has set for other models.
SELECT count(*) AS price_count FROM state.model_prices WHERE tenant_id = %(tenant_id)s AND model <> %(model)s

-- name: set_price
-- Sets the price of a model.
INSERT INTO state.model_prices (tenant_id, model, input_usd, output_usd)
VALUES (%(tenant_id)s, %(model)s, %(input_usd)s, %(output_usd)s)
ON CONFLICT (tenant_id, model) DO UPDATE
SET input_usd = excluded.input_usd, output_usd = excluded.output_usd, set_at = excluded.set_at
RETURNING model, input_usd, output_usd, set_at

-- name: remove_price
-- Removes the price of a model.
DELETE FROM state.model_prices WHERE tenant_id = %(tenant_id)s AND model = %(model)s

-- name: prune
-- Deletes some old calls that are not reserved any more; the account keeps its sums.
DELETE FROM traces.model_calls
WHERE model_calls.tenant_id = %(tenant_id)s AND call_id = ANY (ARRAY(
    SELECT old.call_id FROM traces.model_calls AS old
    WHERE old.tenant_id = %(tenant_id)s AND old.state <> 'reserved'
      AND old.called_at < (SELECT mnemic.retention_time()) - make_interval(days => %(keep_days)s)
    ORDER BY old.called_at
    LIMIT %(limit)s
))
