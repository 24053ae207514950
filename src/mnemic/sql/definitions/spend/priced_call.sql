-- The price of so many tokens in microdollars: by the price that the tenant set by hand for the model, otherwise the given
-- one; NULL if neither is known. A dollar per million tokens is a microdollar per token. It is bounded, so that no model
-- that reports absurd numbers makes a sum overflow.
CREATE OR REPLACE FUNCTION mnemic.priced_call(
    entered uuid, of_model text, input_tokens bigint, output_tokens bigint, given_microdollars bigint
) RETURNS bigint
LANGUAGE sql STABLE
AS $$
    SELECT CASE WHEN priced.microdollars > 1000000000000000 THEN 1000000000000000 ELSE priced.microdollars END::bigint
    FROM (
        SELECT coalesce(
            (
                SELECT ceil(input_tokens * prices.input_usd + output_tokens * prices.output_usd)
                FROM state.model_prices AS prices WHERE prices.tenant_id = entered AND prices.model = of_model
            ),
            given_microdollars
        ) AS microdollars
    ) AS priced;
$$;
