-- needs: grants/grant_state, grants/groups_of
-- The grants that let an owner recall now: those that it accepted, and those to its groups that it has not dropped.
-- `place` numbers the grants of each giver, oldest first. The caller may read some grants only, and ordered by `place`
-- no giver with many grants displaces another. Runs with the caller's privileges; inlined into the queries that call it.
CREATE OR REPLACE FUNCTION mnemic.readable_grants(of_tenant uuid, reader text)
RETURNS TABLE (
    grant_id uuid, owner text, channel text, categories text[], tags text[], conversation text, place bigint
)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT
        found.grant_id, found.owner, found.channel, found.categories, found.tags, found.conversation,
        row_number() OVER (PARTITION BY found.owner ORDER BY found.grant_id)
    FROM (
        SELECT grants.*
        FROM state.grants
        WHERE grants.tenant_id = of_tenant AND grants.granted_to = reader
          AND grants.accepted_at IS NOT NULL AND grants.revoked_at IS NULL AND grants.dropped_at IS NULL
        UNION ALL
        SELECT grants.*
        FROM state.grants
        WHERE grants.tenant_id = of_tenant AND grants.granted_to_group = ANY (mnemic.groups_of(of_tenant, reader))
          AND grants.revoked_at IS NULL AND grants.owner <> reader
          AND NOT EXISTS (
              SELECT FROM state.dropped_group_grants AS dropped
              WHERE dropped.tenant_id = of_tenant AND dropped.grant_id = grants.grant_id AND dropped.owner = reader
          )
    ) AS found
    WHERE mnemic.grant_state(found.accepted_at, found.expires_at, NULL, NULL) = 'active';
END;
GRANT EXECUTE ON FUNCTION mnemic.readable_grants(uuid, text) TO mnemic_app;
