-- stage: before tables
-- needs: tenancy/verified_claim
-- The verified tenant of this transaction; NULL without a valid proof. Every policy calls it.
CREATE OR REPLACE FUNCTION mnemic.current_tenant() RETURNS uuid
LANGUAGE sql STABLE PARALLEL RESTRICTED
RETURN mnemic.verified_claim('tenant')::uuid;
