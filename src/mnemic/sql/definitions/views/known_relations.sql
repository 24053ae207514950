-- Current and removed relations, each with the time of its removal; 'infinity' if it was not removed. A relation held at a
-- moment if created_at <= moment < removed_at. Runs with the caller's privileges, so that row-level security applies.
CREATE OR REPLACE VIEW state.known_relations WITH (security_invoker = true) AS
SELECT tenant_id, owner, from_id, to_id, kind, confidence, provenance, memory_id, process, created_at, updated_at,
    'infinity'::timestamptz AS removed_at
FROM state.entity_relations
UNION ALL
SELECT tenant_id, owner, from_id, to_id, kind, confidence, provenance, memory_id, process, created_at, updated_at,
    removed_at
FROM state.removed_relations;
GRANT SELECT ON state.known_relations TO mnemic_app;
