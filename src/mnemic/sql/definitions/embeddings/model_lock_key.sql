-- The key of the advisory lock of a tenant's embedding model. The tenant need not be verified: a false claim locks
-- nothing that the caller can read.
CREATE OR REPLACE FUNCTION mnemic.model_lock_key() RETURNS bigint
LANGUAGE sql STABLE
RETURN hashtextextended('mnemic.model ' || coalesce(current_setting('mnemic.tenant', true), ''), 0);
GRANT EXECUTE ON FUNCTION mnemic.model_lock_key() TO mnemic_app, mnemic_definer;
