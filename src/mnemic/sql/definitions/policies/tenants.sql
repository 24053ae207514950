-- Policies of state.tenants, all of them.

-- A tenant sees itself. Finding one by name needs a proof of `opening` for that name, which Mnemic has when it opens a
-- tenant and injected SQL in a tenant's transaction does not.
DROP POLICY IF EXISTS same_tenant ON state.tenants;
CREATE POLICY same_tenant ON state.tenants FOR SELECT
USING (tenant_id = (SELECT mnemic.current_tenant()) OR name = (SELECT mnemic.verified_claim('opening')));

-- Creating a tenant needs the same proof.
DROP POLICY IF EXISTS opening ON state.tenants;
CREATE POLICY opening ON state.tenants FOR INSERT
WITH CHECK (name = (SELECT mnemic.verified_claim('opening')));

-- The application may update the columns default_schedules and grant_policy, and no other.
DROP POLICY IF EXISTS own_defaults ON state.tenants;
CREATE POLICY own_defaults ON state.tenants FOR UPDATE
USING (tenant_id = (SELECT mnemic.current_tenant()))
WITH CHECK (tenant_id = (SELECT mnemic.current_tenant()));

-- For workers, who serve all tenants.
DROP POLICY IF EXISTS workers ON state.tenants;
CREATE POLICY workers ON state.tenants FOR SELECT TO mnemic_definer
USING ((SELECT mnemic.verified_claim('working')) = 'queue');

-- For find_key: the tenant of the key whose hash was proved.
DROP POLICY IF EXISTS key_lookup ON state.tenants;
CREATE POLICY key_lookup ON state.tenants FOR SELECT TO mnemic_definer
USING (
    EXISTS (
        SELECT FROM state.api_keys
        WHERE api_keys.tenant_id = tenants.tenant_id
          AND encode(api_keys.key_hash, 'hex') = (SELECT mnemic.verified_claim('key'))
    )
);

-- For find_session: the tenant of the session whose hash was proved.
DROP POLICY IF EXISTS session_lookup ON state.tenants;
CREATE POLICY session_lookup ON state.tenants FOR SELECT TO mnemic_definer
USING (
    (SELECT mnemic.verified_claim('session')) IS NOT NULL AND EXISTS (
        SELECT FROM queue.sessions
        WHERE sessions.tenant_id = tenants.tenant_id
          AND encode(sessions.secret_hash, 'hex') = (SELECT mnemic.verified_claim('session'))
    )
);
