-- Policies of state.api_keys beside `same_tenant`, which mnemic.protect() creates.

-- find_key and has_keys look before a tenant is known: they see the key whose hash was proved, or all keys if the subject
-- `any`, which is no hash, was proved.
DROP POLICY IF EXISTS key_lookup ON state.api_keys;
CREATE POLICY key_lookup ON state.api_keys FOR SELECT TO mnemic_definer
USING (encode(key_hash, 'hex') = (SELECT mnemic.verified_claim('key')) OR (SELECT mnemic.verified_claim('key')) = 'any');
