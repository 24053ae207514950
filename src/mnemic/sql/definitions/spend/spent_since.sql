-- What the calls of a tenant have cost since the start of a day in UTC, by the ledger.
CREATE OR REPLACE FUNCTION mnemic.spent_since(entered uuid, first_day date) RETURNS numeric
LANGUAGE sql STABLE
AS $$
    SELECT coalesce(sum(spent_microdollars), 0) FROM traces.model_calls
    WHERE tenant_id = entered AND called_at >= first_day::timestamp AT TIME ZONE 'UTC';
$$;
