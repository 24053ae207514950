-- Which memories mentioned an entity at an earlier time.

-- name: names
-- What an entity is called; no row if it did not exist yet at the moment.
SELECT names.name
FROM state.entity_names AS names
JOIN state.entities ON entities.tenant_id = %(tenant_id)s AND entities.entity_id = names.entity_id
WHERE names.tenant_id = %(tenant_id)s AND names.entity_id = %(entity_id)s AND entities.created_at <= %(as_of)s

-- name: versions_with_phrases
-- Versions that were known at a moment, have another text than now and contain one of these phrases.
SELECT memory_id, version, content
FROM mnemic.versions_with_phrases(%(owner)s, %(phrases)s::text[], %(as_of)s, %(before)s::uuid, %(scan_max)s)

-- name: versions_with_texts
-- The same for names that PostgreSQL cannot split into words, among the newest memories with earlier versions.
SELECT past.memory_id, past.version, past.content
FROM (
    SELECT memory_id, version, content, recorded_at, known_until FROM state.memory_versions
    WHERE memory_versions.tenant_id = %(tenant_id)s AND owner = %(owner)s
      AND memory_id < coalesce(%(before)s::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
    ORDER BY memory_id DESC
    LIMIT %(scan_max)s
) AS past
WHERE past.recorded_at <= %(as_of)s AND past.known_until > %(as_of)s
  AND EXISTS (
      SELECT FROM unnest(%(texts)s::text[]) AS wanted (name) WHERE strpos(lower(past.content), lower(wanted.name)) > 0
  )
  AND past.content <> (
      SELECT now.content FROM state.memories AS now
      WHERE now.tenant_id = %(tenant_id)s AND now.memory_id = past.memory_id
  )

-- name: records
-- Memories that mentioned an entity at a moment, in the version of that moment, newest first: linked ones whose text was
-- the same as now, and the given versions, which had another text.
WITH linked AS (
    SELECT links.memory_id, known.version
    FROM state.memory_entities AS links
    JOIN state.memories AS now ON now.tenant_id = %(tenant_id)s AND now.memory_id = links.memory_id
    CROSS JOIN LATERAL (
        SELECT history.version FROM state.memory_history AS history
        WHERE history.tenant_id = %(tenant_id)s AND history.memory_id = links.memory_id
          AND history.recorded_at <= %(as_of)s AND coalesce(history.known_until > %(as_of)s, true)
          AND history.content = now.content AND (%(include_forgotten)s OR history.deleted_at IS NULL)
    ) AS known
    WHERE links.tenant_id = %(tenant_id)s AND links.owner = %(owner)s AND links.entity_id = %(entity_id)s
      AND links.memory_id < coalesce(%(before)s::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
      AND now.created_at <= %(as_of)s
    ORDER BY links.memory_id DESC
    LIMIT %(limit)s
),
found AS (
    SELECT memory_id, version FROM linked
    UNION
    SELECT given.memory_id, given.version
    FROM unnest(%(memory_ids)s::uuid[], %(versions)s::int[]) AS given (memory_id, version)
)
SELECT records.*
FROM found
JOIN state.memory_history AS records
    ON records.tenant_id = %(tenant_id)s AND records.memory_id = found.memory_id AND records.version = found.version
WHERE %(include_forgotten)s OR records.deleted_at IS NULL
ORDER BY records.memory_id DESC
LIMIT %(limit)s
