-- The index for the limits per giver must never serve queries about a reader: without statistics the planner takes the two for
-- equal, and would skip through all givers of the tenant. A predicate that only the queries about givers repeat keeps them apart.
DROP INDEX state.grants_held;
CREATE INDEX grants_held ON state.grants (tenant_id, owner, granted_to) WHERE coalesce(revoked_at, dropped_at) IS NULL;
