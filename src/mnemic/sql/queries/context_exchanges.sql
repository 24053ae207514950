-- Transcripts of the proxy: what every later request of a session repeats.

-- name: load
-- The transcript of a session; no row if the proxy has not changed any of its requests.
SELECT
    opening, tools,
    ARRAY(
        SELECT exchanges.key FROM state.context_exchanges AS exchanges
        WHERE exchanges.tenant_id = %(tenant_id)s AND exchanges.owner = %(owner)s AND exchanges.session = %(session)s
        ORDER BY exchanges.exchange_id
    ) AS keys,
    ARRAY(
        SELECT exchanges.content FROM state.context_exchanges AS exchanges
        WHERE exchanges.tenant_id = %(tenant_id)s AND exchanges.owner = %(owner)s AND exchanges.session = %(session)s
        ORDER BY exchanges.exchange_id
    ) AS contents,
    ARRAY(
        SELECT ARRAY[cuts.first_key, cuts.last_turn, cuts.kept_from] FROM state.context_thinking_cuts AS cuts
        WHERE cuts.tenant_id = %(tenant_id)s AND cuts.owner = %(owner)s AND cuts.session = %(session)s
        ORDER BY cuts.cut_id
    ) AS cuts
FROM state.context_transcripts
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND session = %(session)s

-- name: begin
-- Begins the transcript of a session. If another request has begun it, the row of that request is returned.
INSERT INTO state.context_transcripts (tenant_id, owner, session, opening, tools)
VALUES (%(tenant_id)s, %(owner)s, %(session)s, %(opening)s, %(tools)s)
ON CONFLICT (tenant_id, owner, session) DO UPDATE SET owner = excluded.owner
RETURNING opening, tools

-- name: store
-- Stores an exchange, and deletes the oldest ones above the limit of a session.
WITH dropped AS (
    DELETE FROM state.context_exchanges AS exchanges
    WHERE exchanges.tenant_id = %(tenant_id)s AND exchanges.owner = %(owner)s AND exchanges.session = %(session)s
      AND exchanges.exchange_id <= (
          SELECT oldest.exchange_id FROM state.context_exchanges AS oldest
          WHERE oldest.tenant_id = %(tenant_id)s AND oldest.owner = %(owner)s AND oldest.session = %(session)s
            AND oldest.key <> %(key)s
          ORDER BY oldest.exchange_id DESC
          OFFSET %(limit)s - 1 LIMIT 1
      )
)
INSERT INTO state.context_exchanges (tenant_id, owner, session, key, content)
VALUES (%(tenant_id)s, %(owner)s, %(session)s, %(key)s, %(content)s)
ON CONFLICT (tenant_id, owner, session, key) DO UPDATE SET
    content = excluded.content, exchange_id = excluded.exchange_id, stored_at = excluded.stored_at

-- name: session_of
-- The session of an exchange. A request that continues a response of the provider names no session.
SELECT session FROM state.context_exchanges
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND key = %(key)s
ORDER BY exchange_id DESC
LIMIT 1

-- name: of_response
-- The exchange of a response that the provider stores, and the hidden tools that its request offered.
SELECT exchanges.content, transcripts.tools
FROM state.context_exchanges AS exchanges
JOIN state.context_transcripts AS transcripts
    ON transcripts.tenant_id = exchanges.tenant_id AND transcripts.owner = exchanges.owner
   AND transcripts.session = exchanges.session
WHERE exchanges.tenant_id = %(tenant_id)s AND exchanges.owner = %(owner)s AND exchanges.key = %(key)s
ORDER BY exchanges.exchange_id DESC
LIMIT 1

-- name: cut
-- Stores a cut of thinking.
INSERT INTO state.context_thinking_cuts (tenant_id, owner, session, first_key, last_turn, kept_from)
VALUES (%(tenant_id)s, %(owner)s, %(session)s, %(first_key)s, %(last_turn)s, %(kept_from)s)
