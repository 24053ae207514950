-- The session or link whose secret has this hash, with its API key, its tenant and its condition; no row if there is none.
-- Role and owner are those of the key. One statement that carries a signature, like keys/find_key.sql.
CREATE OR REPLACE FUNCTION mnemic.find_session(hash text, signed text)
RETURNS TABLE (
    tenant_id uuid, tenant_name text, condition text, secret_hash bytea, session_id uuid, kind text,
    session_expires_at timestamptz, key_id uuid, name text, role text, owner text, prefix text,
    created_at timestamptz, expires_at timestamptz, revoked_at timestamptz, last_used_at timestamptz
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF (
        hash ~ '^[0-9a-f]{64}$' AND sha256(convert_to(signed, 'UTF8'))
        = sha256(convert_to(mnemic.signature('find session', hash, mnemic.backend_identity()), 'UTF8'))
    ) IS NOT TRUE THEN
        RAISE insufficient_privilege USING MESSAGE = 'finding a session needs a signature of its hash';
    END IF;
    PERFORM
        set_config('mnemic.session', hash, true),
        set_config('mnemic.session_proof', mnemic.signature('session', hash, mnemic.transaction_identity()), true);
    RETURN QUERY
    SELECT tenants.tenant_id, tenants.name,
        CASE
            WHEN api_keys.revoked_at IS NOT NULL THEN 'revoked'
            WHEN least(api_keys.expires_at, sessions.expires_at) <= statement_timestamp() THEN 'expired'
            ELSE 'active'
        END,
        sessions.secret_hash, sessions.session_id, sessions.kind,
        least(api_keys.expires_at, sessions.expires_at),
        api_keys.key_id, api_keys.name, api_keys.role, api_keys.owner, api_keys.prefix,
        api_keys.created_at, api_keys.expires_at, api_keys.revoked_at, api_keys.last_used_at
    FROM queue.sessions
    JOIN state.api_keys ON api_keys.tenant_id = sessions.tenant_id AND api_keys.key_id = sessions.key_id
    JOIN state.tenants ON tenants.tenant_id = sessions.tenant_id
    WHERE sessions.secret_hash = decode(hash, 'hex');
END
$$;
CALL mnemic.run_as_definer('mnemic.find_session(text, text)');
