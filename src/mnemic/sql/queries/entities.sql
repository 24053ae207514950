-- Entities of an owner. Results come from the view state.entity_records.

-- name: put
-- Creates the entity or adds to it, and locks its row until the transaction ends, so that concurrent writers wait here.
-- `updated_at` is the time of the change, after the wait.
INSERT INTO state.entities AS kept (tenant_id, owner, category, name, salience, metadata, process)
VALUES (%(tenant_id)s, %(owner)s, mnemic.name_key(%(category)s), %(name)s, coalesce(%(salience)s::real, 0.5),
    %(metadata)s, %(process)s)
ON CONFLICT (tenant_id, owner, category, name_key) DO UPDATE
SET salience = coalesce(%(salience)s::real, kept.salience), metadata = kept.metadata || excluded.metadata,
    process = excluded.process, version = kept.version + 1, updated_at = greatest(clock_timestamp(), kept.updated_at)
RETURNING entity_id, updated_at

-- name: add_names
-- Adds names to an entity and returns those that it did not have yet.
INSERT INTO state.entity_names (tenant_id, owner, entity_id, name, first_word)
SELECT %(tenant_id)s, %(owner)s, %(entity_id)s, given.name, given.first_word
FROM unnest(%(names)s::text[], %(first_words)s::text[]) AS given (name, first_word)
ON CONFLICT DO NOTHING
RETURNING name

-- name: retire_facts
-- Retires the living values that the given ones replace. A value stays if it is the same, from the same kind of
-- source, at least as certain, and has evidence or none is given.
UPDATE state.entity_facts AS kept
SET retired_at = greatest(%(moment)s, kept.recorded_at)
FROM jsonb_each(%(facts)s) AS given (attribute, value)
WHERE tenant_id = %(tenant_id)s
  AND kept.entity_id = %(entity_id)s AND kept.attribute = given.attribute AND kept.retired_at IS NULL
  AND NOT (
      kept.value = given.value AND kept.provenance = %(provenance)s AND kept.confidence >= %(confidence)s::real
      AND (kept.memory_id IS NOT NULL OR %(memory_id)s::uuid IS NULL)
  )

-- name: add_facts
-- Adds the given values where their attribute has no living one.
INSERT INTO state.entity_facts (tenant_id, owner, entity_id, attribute, value, confidence, provenance, memory_id,
    process, recorded_at)
SELECT %(tenant_id)s, %(owner)s, %(entity_id)s, given.attribute, given.value, %(confidence)s, %(provenance)s,
    %(memory_id)s, %(process)s, %(moment)s
FROM jsonb_each(%(facts)s) AS given (attribute, value)
WHERE NOT EXISTS (
    SELECT FROM state.entity_facts AS living
    WHERE living.tenant_id = %(tenant_id)s
      AND living.entity_id = %(entity_id)s AND living.attribute = given.attribute AND living.retired_at IS NULL
)

-- name: read
-- Entities of an owner by their ids, in the order of the ids.
SELECT records.*
FROM unnest(%(entity_ids)s::uuid[]) WITH ORDINALITY AS wanted (entity_id, place)
JOIN state.entity_records AS records USING (entity_id)
WHERE records.tenant_id = %(tenant_id)s AND records.owner = %(owner)s
ORDER BY wanted.place

-- name: find
-- Entities that are called so, those whose own name it is first, then the most salient.
SELECT entities.entity_id, entities.name_key = names.name_key AS is_own_name
FROM state.entity_names AS names
JOIN state.entities ON entities.tenant_id = %(tenant_id)s AND entities.entity_id = names.entity_id
JOIN state.entity_records AS records ON records.tenant_id = %(tenant_id)s AND records.entity_id = names.entity_id
WHERE names.tenant_id = %(tenant_id)s AND names.owner = %(owner)s AND names.name_key = mnemic.name_key(%(name)s)
  AND (%(category)s::text IS NULL OR entities.category = mnemic.name_key(%(category)s))
ORDER BY is_own_name DESC, records.salience DESC, entities.entity_id
LIMIT %(limit)s

-- name: list
-- Entities of an owner, newest first, a page at a time.
SELECT *
FROM state.entity_records
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s
  AND entity_id < coalesce(%(before)s::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
  AND (%(category)s::text IS NULL OR category = mnemic.name_key(%(category)s))
ORDER BY entity_id DESC
LIMIT %(limit)s

-- name: hold
-- Which of these entities the owner has; they cannot be deleted until the transaction ends.
SELECT entity_id
FROM state.entities
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND entity_id = ANY(%(entity_ids)s::uuid[])
ORDER BY entity_id
FOR KEY SHARE
