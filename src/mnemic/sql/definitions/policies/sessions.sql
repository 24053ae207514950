-- Policies of queue.sessions beside `same_tenant`, which mnemic.protect() creates.

-- find_session looks before a tenant is known: it sees the session whose hash was proved.
DROP POLICY IF EXISTS session_lookup ON queue.sessions;
CREATE POLICY session_lookup ON queue.sessions FOR SELECT TO mnemic_definer
USING (encode(secret_hash, 'hex') = (SELECT mnemic.verified_claim('session')));
