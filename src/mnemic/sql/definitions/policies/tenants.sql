-- Policies of state.tenants.

DROP POLICY IF EXISTS same_tenant ON state.tenants;
CREATE POLICY same_tenant ON state.tenants FOR SELECT
USING (tenant_id = (SELECT mnemic.current_tenant()) OR name = (SELECT mnemic.verified('opening')));

DROP POLICY IF EXISTS opening ON state.tenants;
CREATE POLICY opening ON state.tenants FOR INSERT
WITH CHECK (name = (SELECT mnemic.verified('opening')));

-- The column default_schedules is the only one that the application may update.
DROP POLICY IF EXISTS own_defaults ON state.tenants;
CREATE POLICY own_defaults ON state.tenants FOR UPDATE
USING (tenant_id = (SELECT mnemic.current_tenant()))
WITH CHECK (tenant_id = (SELECT mnemic.current_tenant()));

DROP POLICY IF EXISTS working ON state.tenants;
CREATE POLICY working ON state.tenants FOR SELECT TO mnemic_definer
USING ((SELECT mnemic.verified('working')) = 'queue');

DROP POLICY IF EXISTS proven_key ON state.tenants;
CREATE POLICY proven_key ON state.tenants FOR SELECT TO mnemic_definer
USING (
    EXISTS (
        SELECT FROM state.api_keys
        WHERE api_keys.tenant_id = tenants.tenant_id
          AND encode(api_keys.key_hash, 'hex') = (SELECT mnemic.verified('key'))
    )
);
