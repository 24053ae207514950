-- How the transcript of a session that a model provider has differs from the one that the client has (proxy/): every request
-- must repeat the differences exactly, because the provider caches the beginning of a prompt and rejects thinking after a
-- change. Values are JSON or text as bytes (UTF-8), because `jsonb` and `text` cannot hold every string of a client.
CREATE TABLE state.context_transcripts (
    tenant_id uuid NOT NULL REFERENCES state.tenants,
    owner text NOT NULL CHECK (char_length(owner) BETWEEN 1 AND 256),
    session text NOT NULL CHECK (char_length(session) BETWEEN 1 AND 256),
    -- Recalled memories at the start; NULL if there were none.
    opening bytea CHECK (octet_length(opening) <= 1048576),
    -- Definitions of the hidden tools as they were first sent. A later version of Mnemic may define them otherwise.
    tools bytea NOT NULL CHECK (octet_length(tools) <= 65536),
    started_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, owner, session)
);
COMMENT ON TABLE state.context_transcripts IS 'What the proxy put at the start of a session: hidden tools, recalled memories.';
CALL mnemic.protect('state.context_transcripts');

CREATE TABLE state.context_exchanges (
    tenant_id uuid NOT NULL,
    owner text NOT NULL,
    session text NOT NULL,
    -- Identifies the assistant's turn in the client's transcript.
    key text NOT NULL CHECK (char_length(key) BETWEEN 1 AND 1024),
    exchange_id uuid NOT NULL DEFAULT mnemic.new_id(),
    -- Messages in place of the turn, and results of hidden calls for the next message.
    content bytea NOT NULL CHECK (octet_length(content) <= 16777216),
    stored_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, owner, session, key),
    FOREIGN KEY (tenant_id, owner, session) REFERENCES state.context_transcripts ON DELETE CASCADE
);
COMMENT ON TABLE state.context_exchanges IS 'Turns with calls of hidden tools, which only the provider has seen.';
-- Requests that continue a response of the provider name only its id, and no session.
CREATE INDEX context_exchanges_by_key ON state.context_exchanges (tenant_id, owner, key);
CREATE INDEX context_exchanges_in_order ON state.context_exchanges (tenant_id, owner, session, exchange_id DESC);
CALL mnemic.protect('state.context_exchanges');

CREATE TABLE state.context_thinking_cuts (
    tenant_id uuid NOT NULL,
    owner text NOT NULL,
    session text NOT NULL,
    cut_id uuid NOT NULL DEFAULT mnemic.new_id(),
    -- Keys of the first entry that changed (empty: the beginning), of the last turn before the change, and of the first turn
    -- whose thinking had to stay (empty: none).
    first_key text NOT NULL CHECK (char_length(first_key) <= 1024),
    last_turn text NOT NULL CHECK (char_length(last_turn) <= 1024),
    kept_from text NOT NULL CHECK (char_length(kept_from) <= 1024),
    stored_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, owner, session, cut_id),
    FOREIGN KEY (tenant_id, owner, session) REFERENCES state.context_transcripts ON DELETE CASCADE
);
COMMENT ON TABLE state.context_thinking_cuts IS 'Ranges of thinking that changes of the prompt made unfit.';
CALL mnemic.protect('state.context_thinking_cuts');
