-- stage: before tables
-- needs: tenancy/verified
-- @@
CREATE OR REPLACE FUNCTION mnemic.current_tenant() RETURNS uuid
LANGUAGE sql STABLE PARALLEL RESTRICTED
RETURN mnemic.verified('tenant')::uuid;
