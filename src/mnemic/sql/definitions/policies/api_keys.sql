-- Policies of state.api_keys beside `same_tenant`, which mnemic.protect() creates.

-- find_key and has_keys look before a tenant is known: they see the key whose hash was proved, or all keys if the subject
-- `any`, which is no hash, was proved.
DROP POLICY IF EXISTS key_lookup ON state.api_keys;
CREATE POLICY key_lookup ON state.api_keys FOR SELECT TO mnemic_definer
USING (encode(key_hash, 'hex') = (SELECT mnemic.verified_claim('key')) OR (SELECT mnemic.verified_claim('key')) = 'any');

-- For find_session: the key of the session whose hash was proved.
DROP POLICY IF EXISTS session_lookup ON state.api_keys;
CREATE POLICY session_lookup ON state.api_keys FOR SELECT TO mnemic_definer
USING (
    (SELECT mnemic.verified_claim('session')) IS NOT NULL AND EXISTS (
        SELECT FROM queue.sessions
        WHERE sessions.tenant_id = api_keys.tenant_id AND sessions.key_id = api_keys.key_id
          AND encode(sessions.secret_hash, 'hex') = (SELECT mnemic.verified_claim('session'))
    )
);
