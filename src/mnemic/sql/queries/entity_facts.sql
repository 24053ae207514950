-- Facts about entities as they were: the living values and the retired ones.

-- name: place
-- Where a fact stands in the history, for the page behind it.
SELECT recorded_at AS before_at, fact_id AS before_id
FROM state.entity_facts
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND entity_id = %(entity_id)s AND fact_id = %(before)s

-- name: list
-- What is and was known about an entity, newest first, from the fact behind (before_at, before_id) on.
SELECT fact_id, entity_id, attribute, value, confidence, provenance, memory_id, process, recorded_at, retired_at
FROM state.entity_facts
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND entity_id = %(entity_id)s
  AND (recorded_at, fact_id) < (coalesce(%(before_at)s::timestamptz, 'infinity'), %(before_id)s::uuid)
  AND (%(attribute)s::text IS NULL OR attribute = %(attribute)s)
ORDER BY recorded_at DESC, fact_id DESC
LIMIT %(limit)s
