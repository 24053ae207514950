-- The spend ledger: what calls of language models cost, and caps on it (govern/spend.py). Amounts are in millionths of a
-- US dollar. A call *reserves* its worst case before it is made; afterwards the reservation is *settled* with what it
-- cost, or *released*; one whose process died is released when its lease ends. The ledger holds no text and no owner.
CREATE TABLE state.spend_caps (
    tenant_id uuid NOT NULL REFERENCES state.tenants,
    period text NOT NULL CHECK (period IN ('day', 'month', 'total')),
    cap_microdollars bigint NOT NULL CHECK (cap_microdollars >= 0),
    set_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, period)
);
COMMENT ON TABLE state.spend_caps IS 'The most that calls of language models may cost in a period.';
CALL mnemic.protect('state.spend_caps');

-- Sums per period, in one row each, so that a reservation is one conditional UPDATE.
CREATE TABLE state.spend_totals (
    tenant_id uuid NOT NULL REFERENCES state.tenants,
    period text NOT NULL CHECK (period IN ('day', 'month', 'total')),
    starts_on date NOT NULL,
    spent_microdollars bigint NOT NULL DEFAULT 0 CHECK (spent_microdollars >= 0),
    reserved_microdollars bigint NOT NULL DEFAULT 0 CHECK (reserved_microdollars >= 0),
    PRIMARY KEY (tenant_id, period, starts_on)
);
COMMENT ON TABLE state.spend_totals IS 'What was spent and is reserved in each period.';
CALL mnemic.protect('state.spend_totals');

CREATE TABLE traces.model_calls (
    tenant_id uuid NOT NULL REFERENCES state.tenants,
    call_id uuid NOT NULL DEFAULT mnemic.new_id(),
    purpose text NOT NULL CHECK (
        purpose IN ('extraction', 'summary', 'query_expansion', 'hyde', 'reranking', 'strategy', 'context', 'other')
    ),
    model text NOT NULL CHECK (char_length(model) BETWEEN 1 AND 256),
    state text NOT NULL DEFAULT 'reserved' CHECK (state IN ('reserved', 'settled', 'released')),
    reserved_microdollars bigint NOT NULL CHECK (reserved_microdollars >= 0),
    spent_microdollars bigint CHECK (spent_microdollars >= 0),
    is_price_known boolean NOT NULL,
    input_tokens int CHECK (input_tokens >= 0),
    output_tokens int CHECK (output_tokens >= 0),
    called_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    leased_until timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, call_id)
);
COMMENT ON TABLE traces.model_calls IS 'The spend ledger: calls of language models with tokens and price.';
CREATE INDEX model_calls_by_time ON traces.model_calls (tenant_id, called_at);
CREATE INDEX model_calls_reserved ON traces.model_calls (tenant_id, leased_until) WHERE state = 'reserved';
CALL mnemic.protect('traces.model_calls');
