-- Policies of vectors.tenant_models.

-- Only so that a table is not dropped while another tenant uses it.
DROP POLICY IF EXISTS definer_counts ON vectors.tenant_models;
CREATE POLICY definer_counts ON vectors.tenant_models FOR SELECT TO mnemic_definer USING (true);
