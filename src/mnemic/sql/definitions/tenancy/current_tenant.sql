-- stage: before tables
-- needs: tenancy/verified_claim
-- @@
CREATE OR REPLACE FUNCTION mnemic.current_tenant() RETURNS uuid
LANGUAGE sql STABLE PARALLEL RESTRICTED
RETURN mnemic.verified_claim('tenant')::uuid;
