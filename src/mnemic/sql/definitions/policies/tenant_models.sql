-- Policies of vectors.tenant_models.

-- Only so that a table is not dropped while another tenant uses it.
DROP POLICY IF EXISTS find_unused_models ON vectors.tenant_models;
CREATE POLICY find_unused_models ON vectors.tenant_models FOR SELECT TO mnemic_definer USING (true);
