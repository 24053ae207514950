-- Policies of state.api_keys.

-- For the two functions below, which look before there is a tenant: they see the key whose hash was proved
-- and its tenant; and all keys, if the subject `any` was proved, which is no hash.
DROP POLICY IF EXISTS key_lookup ON state.api_keys;
CREATE POLICY key_lookup ON state.api_keys FOR SELECT TO mnemic_definer
USING (encode(key_hash, 'hex') = (SELECT mnemic.verified_claim('key')) OR (SELECT mnemic.verified_claim('key')) = 'any');
