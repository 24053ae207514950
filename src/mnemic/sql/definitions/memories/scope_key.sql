-- stage: before tables
-- Stands for an owner of a tenant in a GIN index, so that a search by words reads only the entries of one owner.
-- It is an array because GIN indexes arrays without an extension.
CREATE OR REPLACE FUNCTION mnemic.scope_key(tenant_id uuid, owner text) RETURNS bigint[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY[hashtextextended(owner, hashtextextended(tenant_id::text, 0))];
GRANT EXECUTE ON FUNCTION mnemic.scope_key(uuid, text) TO mnemic_app, mnemic_definer;
