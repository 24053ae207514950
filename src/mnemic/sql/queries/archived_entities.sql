-- The archive of deleted entities. All queries of one delete or restore run in one transaction.

-- name: lock
-- Locks an entity: until the transaction ends, nobody can add to it, relate it or link it.
SELECT entity_id FROM state.entities
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND entity_id = %(entity_id)s FOR UPDATE

-- name: archive
-- Copies an entity and everything that belongs to it into the archive.
INSERT INTO state.archived_entities (tenant_id, entity_id, owner, category, name, snapshot, process)
SELECT gone.tenant_id, gone.entity_id, gone.owner, gone.category, gone.name,
    jsonb_build_object(
        'entity', to_jsonb(gone),
        'names', (SELECT coalesce(jsonb_agg(to_jsonb(names)), '[]') FROM state.entity_names AS names
                  WHERE names.tenant_id = %(tenant_id)s AND names.entity_id = gone.entity_id),
        'facts', (SELECT coalesce(jsonb_agg(to_jsonb(facts)), '[]') FROM state.entity_facts AS facts
                  WHERE facts.tenant_id = %(tenant_id)s AND facts.entity_id = gone.entity_id),
        'relations', (SELECT coalesce(jsonb_agg(to_jsonb(relations)), '[]') FROM state.entity_relations AS relations
                      WHERE relations.tenant_id = %(tenant_id)s
                        AND gone.entity_id IN (relations.from_id, relations.to_id)),
        'memory_ids', (SELECT coalesce(jsonb_agg(links.memory_id), '[]') FROM state.memory_entities AS links
                       WHERE links.tenant_id = %(tenant_id)s AND links.entity_id = gone.entity_id)
    ),
    %(process)s
FROM state.entities AS gone
WHERE gone.tenant_id = %(tenant_id)s AND gone.owner = %(owner)s AND gone.entity_id = %(entity_id)s
RETURNING entity_id, owner, category, name, process, archived_at

-- name: delete_entity
-- Deletes an entity with everything that belongs to it.
DELETE FROM state.entities WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND entity_id = %(entity_id)s

-- name: find
-- Locks a deleted entity, by its id or else the last one of that category and name.
SELECT entity_id, category, name
FROM state.archived_entities
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s
  AND (%(entity_id)s::uuid IS NULL OR entity_id = %(entity_id)s)
  AND (%(name)s::text IS NULL OR (category = mnemic.name_key(%(category)s) AND name_key = mnemic.name_key(%(name)s)))
ORDER BY archived_at DESC
LIMIT 1
FOR UPDATE

-- name: restore_entity
-- Restores the entity itself, unless its name is taken.
INSERT INTO state.entities (tenant_id, entity_id, owner, category, name, salience, metadata, process, version, created_at)
SELECT archived.tenant_id, archived.entity_id, archived.owner, archived.category, archived.name,
    kept.salience, kept.metadata, kept.process, kept.version + 1, kept.created_at
FROM state.archived_entities AS archived
CROSS JOIN jsonb_to_record(archived.snapshot -> 'entity')
    AS kept (salience real, metadata jsonb, process text, version int, created_at timestamptz)
WHERE archived.tenant_id = %(tenant_id)s AND archived.entity_id = %(entity_id)s
ON CONFLICT DO NOTHING

-- name: restore_names
-- Restores its names.
INSERT INTO state.entity_names (tenant_id, owner, entity_id, name, first_word, created_at)
SELECT archived.tenant_id, archived.owner, archived.entity_id, kept.name, kept.first_word, kept.created_at
FROM state.archived_entities AS archived
CROSS JOIN jsonb_to_recordset(archived.snapshot -> 'names') AS kept (name text, first_word text, created_at timestamptz)
WHERE archived.tenant_id = %(tenant_id)s AND archived.entity_id = %(entity_id)s
RETURNING name

-- name: restore_facts
-- Restores its facts, current and retired, without evidence that was deleted.
INSERT INTO state.entity_facts (tenant_id, fact_id, owner, entity_id, attribute, value, confidence, provenance, memory_id,
    process, recorded_at, retired_at)
SELECT archived.tenant_id, kept.fact_id, archived.owner, archived.entity_id, kept.attribute, kept.value, kept.confidence,
    kept.provenance, memories.memory_id, kept.process, kept.recorded_at, kept.retired_at
FROM state.archived_entities AS archived
CROSS JOIN jsonb_to_recordset(archived.snapshot -> 'facts') AS kept (
    fact_id uuid, attribute text, value jsonb, confidence real, provenance text, memory_id uuid, process text,
    recorded_at timestamptz, retired_at timestamptz
)
LEFT JOIN state.memories ON memories.tenant_id = %(tenant_id)s AND memories.memory_id = kept.memory_id
WHERE archived.tenant_id = %(tenant_id)s AND archived.entity_id = %(entity_id)s

-- name: restore_relations
-- Restores its relations to entities that exist.
INSERT INTO state.entity_relations (tenant_id, owner, from_id, to_id, kind, confidence, provenance, memory_id, process,
    created_at, updated_at)
SELECT archived.tenant_id, archived.owner, kept.from_id, kept.to_id, kept.kind, kept.confidence, kept.provenance,
    memories.memory_id, kept.process, kept.created_at, kept.updated_at
FROM state.archived_entities AS archived
CROSS JOIN jsonb_to_recordset(archived.snapshot -> 'relations') AS kept (
    from_id uuid, to_id uuid, kind text, confidence real, provenance text, memory_id uuid, process text,
    created_at timestamptz, updated_at timestamptz
)
JOIN state.entities AS source ON source.tenant_id = %(tenant_id)s AND source.entity_id = kept.from_id
JOIN state.entities AS target ON target.tenant_id = %(tenant_id)s AND target.entity_id = kept.to_id
LEFT JOIN state.memories ON memories.tenant_id = %(tenant_id)s AND memories.memory_id = kept.memory_id
WHERE archived.tenant_id = %(tenant_id)s AND archived.entity_id = %(entity_id)s
ON CONFLICT DO NOTHING

-- name: hand_over_relations
-- Copies its relations to archived entities into their archive rows, so that restoring the other end restores them.
UPDATE state.archived_entities AS other
SET snapshot = jsonb_set(other.snapshot, '{relations}', (other.snapshot -> 'relations') || mine.relations)
FROM (
    SELECT ends.other_id, jsonb_agg(kept.relation) AS relations
    FROM state.archived_entities AS archived
    CROSS JOIN jsonb_array_elements(archived.snapshot -> 'relations') AS kept (relation)
    CROSS JOIN LATERAL (
        VALUES ((kept.relation ->> 'from_id')::uuid), ((kept.relation ->> 'to_id')::uuid)
    ) AS ends (other_id)
    WHERE archived.tenant_id = %(tenant_id)s
      AND archived.entity_id = %(entity_id)s AND ends.other_id <> %(entity_id)s
    GROUP BY ends.other_id
) AS mine
WHERE other.tenant_id = %(tenant_id)s AND other.owner = %(owner)s AND other.entity_id = mine.other_id

-- name: restore_mentions
-- Links it again to those memories that still exist.
INSERT INTO state.memory_entities (tenant_id, owner, memory_id, entity_id)
SELECT archived.tenant_id, archived.owner, memories.memory_id, archived.entity_id
FROM state.archived_entities AS archived
CROSS JOIN jsonb_array_elements_text(archived.snapshot -> 'memory_ids') AS kept (memory_id)
JOIN state.memories ON memories.tenant_id = %(tenant_id)s AND memories.memory_id = kept.memory_id::uuid
WHERE archived.tenant_id = %(tenant_id)s AND archived.entity_id = %(entity_id)s

-- name: remove
-- Removes a restored entity from the archive.
DELETE FROM state.archived_entities WHERE tenant_id = %(tenant_id)s AND entity_id = %(entity_id)s

-- name: cursor
-- The pagination cursor of a row: its sort key.
SELECT archived_at AS before_at, entity_id AS before_id
FROM state.archived_entities
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND entity_id = %(before)s

-- name: list
-- Deleted entities of an owner, last deleted first, starting after the cursor (before_at, before_id).
SELECT entity_id, owner, category, name, process, archived_at
FROM state.archived_entities
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s
  AND (archived_at, entity_id) < (coalesce(%(before_at)s::timestamptz, 'infinity'), %(before_id)s::uuid)
ORDER BY archived_at DESC, entity_id DESC
LIMIT %(limit)s
