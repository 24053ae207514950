-- Exponential backoff: 30 seconds after the first failed attempt, doubling up to an hour.
CREATE OR REPLACE FUNCTION mnemic.retry_delay(attempts int) RETURNS interval
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN least(30 * 2 ^ (attempts - 1), 3600) * interval '1 second';
GRANT EXECUTE ON FUNCTION mnemic.retry_delay(int) TO mnemic_app, mnemic_definer;
