-- The key that has this hash, with its tenant and its condition; no row if there is none. Every request to a
-- server calls it, so it is one statement that carries a signature (see tenancy/authenticate_tenant.sql).
CREATE OR REPLACE FUNCTION mnemic.find_key(hash text, signed text)
RETURNS TABLE (
    tenant_id uuid, tenant_name text, condition text, key_hash bytea, key_id uuid, name text, role text, owner text,
    prefix text, created_at timestamptz, expires_at timestamptz, revoked_at timestamptz, last_used_at timestamptz
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF (
        hash ~ '^[0-9a-f]{64}$' AND sha256(convert_to(signed, 'UTF8'))
        = sha256(convert_to(mnemic.signature('find key', hash, mnemic.backend_identity()), 'UTF8'))
    ) IS NOT TRUE THEN
        RAISE insufficient_privilege USING MESSAGE = 'finding a key needs a signature of its hash';
    END IF;
    PERFORM
        set_config('mnemic.key', hash, true),
        set_config('mnemic.key_proof', mnemic.signature('key', hash, mnemic.transaction_identity()), true);
    RETURN QUERY
    SELECT tenants.tenant_id, tenants.name,
        CASE
            WHEN api_keys.revoked_at IS NOT NULL THEN 'revoked'
            WHEN api_keys.expires_at <= statement_timestamp() THEN 'expired'
            ELSE 'active'
        END,
        api_keys.key_hash, api_keys.key_id, api_keys.name, api_keys.role, api_keys.owner, api_keys.prefix,
        api_keys.created_at, api_keys.expires_at, api_keys.revoked_at, api_keys.last_used_at
    FROM state.api_keys JOIN state.tenants ON tenants.tenant_id = api_keys.tenant_id
    WHERE api_keys.key_hash = decode(hash, 'hex');
END
$$;
CALL mnemic.run_as_definer('mnemic.find_key(text, text)');
