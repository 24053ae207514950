-- The spend ledger: what calls of language models cost, and caps on it (runtime/spend_ledger.py, govern/spend.py). Amounts
-- are in millionths of a US dollar, days and months are those of UTC. The ledger holds no text and no owner.
--
-- One account per tenant. It is one row, so that a reservation is one conditional UPDATE: an amount is reserved only if it
-- fits below all caps. A cap that is NULL does not limit. `day` and `month` say which day and month the sums are of;
-- reservations that are not settled yet count in every period.
CREATE TABLE state.spend_accounts (
    tenant_id uuid PRIMARY KEY REFERENCES state.tenants,
    day date NOT NULL,
    month date NOT NULL,
    day_cap_microdollars bigint CHECK (day_cap_microdollars >= 0),
    month_cap_microdollars bigint CHECK (month_cap_microdollars >= 0),
    total_cap_microdollars bigint CHECK (total_cap_microdollars >= 0),
    day_spent_microdollars numeric(30) NOT NULL DEFAULT 0 CHECK (day_spent_microdollars >= 0),
    month_spent_microdollars numeric(30) NOT NULL DEFAULT 0 CHECK (month_spent_microdollars >= 0),
    total_spent_microdollars numeric(30) NOT NULL DEFAULT 0 CHECK (total_spent_microdollars >= 0),
    reserved_microdollars numeric(30) NOT NULL DEFAULT 0 CHECK (reserved_microdollars >= 0)
);
COMMENT ON TABLE state.spend_accounts IS 'Caps on what calls of language models may cost, and what they have cost.';
CALL mnemic.protect('state.spend_accounts');

-- Prices that a tenant sets by hand, for models without a known price or with another one. Dollars per million tokens.
CREATE TABLE state.model_prices (
    tenant_id uuid NOT NULL REFERENCES state.tenants,
    model text NOT NULL CHECK (char_length(model) BETWEEN 1 AND 256),
    input_usd numeric(12, 6) NOT NULL CHECK (input_usd >= 0),
    output_usd numeric(12, 6) NOT NULL CHECK (output_usd >= 0),
    set_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, model)
);
COMMENT ON TABLE state.model_prices IS 'Prices of language models that the tenant set by hand.';
CALL mnemic.protect('state.model_prices');

-- A call is *reserved* with its worst case before it is made, and then *settled* with what it cost, or *failed*, which
-- costs nothing. A reservation whose lease has ended is *expired*: its process died. If the process lives after all, it
-- settles the call later.
CREATE TABLE traces.model_calls (
    tenant_id uuid NOT NULL,
    call_id uuid NOT NULL DEFAULT mnemic.new_id(),
    purpose text NOT NULL CHECK (
        purpose IN (
            'extraction', 'summary', 'query_expansion', 'hyde', 'self_query', 'reranking', 'strategy', 'context',
            'proxy', 'other'
        )
    ),
    model text NOT NULL CHECK (char_length(model) BETWEEN 1 AND 256),
    state text NOT NULL DEFAULT 'reserved' CHECK (state IN ('reserved', 'settled', 'failed', 'expired')),
    is_price_known boolean NOT NULL,
    reserved_microdollars bigint NOT NULL CHECK (reserved_microdollars >= 0),
    spent_microdollars bigint NOT NULL DEFAULT 0 CHECK (spent_microdollars >= 0),
    input_tokens bigint NOT NULL DEFAULT 0 CHECK (input_tokens >= 0),
    output_tokens bigint NOT NULL DEFAULT 0 CHECK (output_tokens >= 0),
    called_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    leased_until timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, call_id)
);
COMMENT ON TABLE traces.model_calls IS 'The spend ledger: calls of language models with tokens and price.';
CREATE INDEX model_calls_by_time ON traces.model_calls (tenant_id, called_at);
CREATE INDEX model_calls_reserved ON traces.model_calls (tenant_id, leased_until) WHERE state = 'reserved';
CALL mnemic.protect('traces.model_calls');
