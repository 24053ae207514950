-- Policies of state.memory_versions beside `same_tenant`, which mnemic.protect() creates.

-- For lexical_candidates, which filters by the verified tenant.
DROP POLICY IF EXISTS search_as_definer ON state.memory_versions;
CREATE POLICY search_as_definer ON state.memory_versions FOR SELECT TO mnemic_definer USING (true);
