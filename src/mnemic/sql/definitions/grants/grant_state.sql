-- The state of a grant with these columns: `offered`, `active`, `expired`, `dropped` (by its reader) or `revoked` (by its
-- giver). Inlined into the queries that call it.
CREATE OR REPLACE FUNCTION mnemic.grant_state(
    accepted_at timestamptz, expires_at timestamptz, dropped_at timestamptz, revoked_at timestamptz
) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE
    WHEN revoked_at IS NOT NULL THEN 'revoked'
    WHEN dropped_at IS NOT NULL THEN 'dropped'
    WHEN expires_at <= statement_timestamp() THEN 'expired'
    WHEN accepted_at IS NULL THEN 'offered'
    ELSE 'active'
END;
GRANT EXECUTE ON FUNCTION mnemic.grant_state(timestamptz, timestamptz, timestamptz, timestamptz) TO mnemic_app;
