-- The lock of a tenant's model. The tenant need not be verified: who lies about it locks nothing that he reads.
CREATE OR REPLACE FUNCTION mnemic.model_lock() RETURNS bigint
LANGUAGE sql STABLE
RETURN hashtextextended('mnemic.model ' || coalesce(current_setting('mnemic.tenant', true), ''), 0);
GRANT EXECUTE ON FUNCTION mnemic.model_lock() TO mnemic_app, mnemic_definer;
