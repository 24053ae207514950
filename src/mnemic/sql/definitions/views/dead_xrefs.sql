-- References to forgotten or deleted memories, by kind; one of the views of views/tenant_summary.sql.
CREATE OR REPLACE VIEW traces.dead_xrefs WITH (security_invoker = true) AS
SELECT 'relationship' AS kind, count(*) AS dead_count
FROM state.memory_relationships
WHERE EXISTS (
    SELECT FROM state.memories WHERE memory_id IN (from_id, to_id) AND deleted_at IS NOT NULL
)
UNION ALL
SELECT 'successor', count(*)
FROM state.memories AS old
WHERE status IN ('superseded', 'merged') AND deleted_at IS NULL
  AND NOT EXISTS (
      SELECT FROM state.memories AS new
      WHERE new.memory_id = coalesce(old.superseded_by, old.merged_into) AND new.deleted_at IS NULL
  )
UNION ALL
SELECT 'evidence', count(*)
FROM state.memories, unnest(evidence) AS reference
WHERE evidence <> '{}' AND deleted_at IS NULL
  -- Evidence may also be a URL or the name of a document: check only values that look like an id.
  AND CASE WHEN reference ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
      THEN NOT EXISTS (
          SELECT FROM state.memories AS cited WHERE cited.memory_id = reference::uuid AND cited.deleted_at IS NULL
      )
      ELSE false
  END
UNION ALL
SELECT 'entity fact', count(*)
FROM state.entity_facts JOIN state.memories USING (memory_id)
WHERE retired_at IS NULL AND deleted_at IS NOT NULL;
COMMENT ON VIEW traces.dead_xrefs IS 'References that lead to something forgotten or gone, by kind.';
GRANT SELECT ON traces.dead_xrefs TO mnemic_app;
