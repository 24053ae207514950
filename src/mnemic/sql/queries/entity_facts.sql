-- Facts about entities, current and retired.

-- name: cursor
-- The pagination cursor of a row: its sort key.
SELECT recorded_at AS before_at, fact_id AS before_id
FROM state.entity_facts
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND entity_id = %(entity_id)s AND fact_id = %(before)s

-- name: list
-- Current and earlier facts about an entity, newest first, starting after the cursor (before_at, before_id).
SELECT fact_id, entity_id, attribute, value, confidence, provenance, memory_id, process, recorded_at, retired_at
FROM state.entity_facts
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND entity_id = %(entity_id)s
  AND (recorded_at, fact_id) < (coalesce(%(before_at)s::timestamptz, 'infinity'), %(before_id)s::uuid)
  AND (%(attribute)s::text IS NULL OR attribute = %(attribute)s)
ORDER BY recorded_at DESC, fact_id DESC
LIMIT %(limit)s
