-- Policies of state.memory_versions.

-- Searches by words. Row-level security keeps the application from using the index (`@@` is not leakproof),
-- so it runs as mnemic_definer, whom a policy lets see everything, and itself asks for the verified tenant.
--
-- `terms` are searched one by one; a memory's score is the sum of its terms' weights, less for long texts.
-- Where `weights` has none, a term weighs as much as it is rare among `memory_total` memories. Returns one
-- row: the best `most` memories; how many memories have each term; and for the conversations that have the
-- most of the terms, which ones (bit n stands for term n), at most `most` of them. IS TRUE keeps the planner,
-- which knows nothing about owners, from taking an index by owner for one that leaves few rows.
DROP POLICY IF EXISTS definer_searches ON state.memory_versions;
CREATE POLICY definer_searches ON state.memory_versions FOR SELECT TO mnemic_definer USING (true);
