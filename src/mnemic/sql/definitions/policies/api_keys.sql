-- Policies of state.api_keys.

-- For the two functions below, which look before there is a tenant: they see the key whose hash was proved
-- and its tenant; and all keys, if the subject `any` was proved, which is no hash.
DROP POLICY IF EXISTS proven_key ON state.api_keys;
CREATE POLICY proven_key ON state.api_keys FOR SELECT TO mnemic_definer
USING (encode(key_hash, 'hex') = (SELECT mnemic.verified('key')) OR (SELECT mnemic.verified('key')) = 'any');
