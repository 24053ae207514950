-- stage: before tables
-- Recall by words. What matches a word is found by an index of one owner's words, never by an index of
-- everybody's that is filtered afterwards: a neighbour with a million memories costs nobody anything.

-- Stands for an owner of a tenant in an index. An array, because that is what GIN takes without an extension.
CREATE OR REPLACE FUNCTION mnemic.scope_key(tenant_id uuid, owner text) RETURNS bigint[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY[hashtextextended(owner, hashtextextended(tenant_id::text, 0))];
GRANT EXECUTE ON FUNCTION mnemic.scope_key(uuid, text) TO mnemic_app, mnemic_definer;
