-- The groups that an owner is in: those with its name, and `everyone`.
CREATE OR REPLACE FUNCTION mnemic.groups_of(of_tenant uuid, member text) RETURNS text[]
LANGUAGE sql STABLE PARALLEL SAFE
RETURN ARRAY(
    SELECT group_name FROM state.group_members WHERE tenant_id = of_tenant AND owner = member
) || 'everyone'::text;
GRANT EXECUTE ON FUNCTION mnemic.groups_of(uuid, text) TO mnemic_app;
