-- Policies of state.memories.

-- The newest memories of an owner that contain one of these phrases. First it reads the newest ones, which
-- is all for most owners and enough for frequent phrases; only behind those it asks the index on words.
-- Row-level security keeps the application from using that index (`@@` is not leakproof), so this runs as
-- mnemic_definer, whom a policy lets see every memory, and itself asks for the verified tenant.
DROP POLICY IF EXISTS definer_searches ON state.memories;
CREATE POLICY definer_searches ON state.memories FOR SELECT TO mnemic_definer USING (true);
