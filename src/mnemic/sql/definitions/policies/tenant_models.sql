-- Policies of vectors.tenant_models beside `same_tenant`, which mnemic.protect() creates.

-- For drop_vectors: a table must not be dropped while another tenant uses it.
DROP POLICY IF EXISTS find_unused_models ON vectors.tenant_models;
CREATE POLICY find_unused_models ON vectors.tenant_models FOR SELECT TO mnemic_definer USING (true);
