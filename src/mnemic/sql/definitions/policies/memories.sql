-- Policies of state.memories beside `same_tenant`, which mnemic.protect() creates.

-- For lexical_candidates, filtered_candidates and memories_with_phrases, which filter by the verified tenant.
DROP POLICY IF EXISTS search_as_definer ON state.memories;
CREATE POLICY search_as_definer ON state.memories FOR SELECT TO mnemic_definer USING (true);
