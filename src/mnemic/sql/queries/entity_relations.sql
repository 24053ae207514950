-- Relations between entities, and the graph that they form.

-- name: put
-- Relates two entities, or renews what is known about their relation; evidence is kept unless replaced.
INSERT INTO state.entity_relations AS kept (tenant_id, owner, from_id, to_id, kind, confidence, provenance, memory_id,
    process)
VALUES (%(tenant_id)s, %(owner)s, %(from_id)s, %(to_id)s, %(kind)s, %(confidence)s, %(provenance)s, %(memory_id)s,
    %(process)s)
ON CONFLICT (tenant_id, from_id, to_id, kind) DO UPDATE
SET confidence = excluded.confidence, provenance = excluded.provenance, process = excluded.process,
    memory_id = coalesce(excluded.memory_id, kept.memory_id), updated_at = clock_timestamp()
RETURNING from_id, to_id, kind, confidence, provenance, memory_id, process, created_at, updated_at

-- name: delete
-- Removes one relation, and keeps it among the removed ones.
WITH removed AS (
    DELETE FROM state.entity_relations
    WHERE tenant_id = %(tenant_id)s
      AND owner = %(owner)s AND from_id = %(from_id)s AND to_id = %(to_id)s AND kind = %(kind)s
    RETURNING tenant_id, owner, from_id, to_id, kind, confidence, provenance, memory_id, process, created_at, updated_at
)
INSERT INTO state.removed_relations (tenant_id, owner, from_id, to_id, kind, confidence, provenance, memory_id, process,
    created_at, updated_at)
SELECT tenant_id, owner, from_id, to_id, kind, confidence, provenance, memory_id, process, created_at, updated_at
FROM removed

-- name: walk
-- The entities that can be reached from one of the owner's within some steps, whichever way relations point,
-- nearest first; no row if the start is not there. A row of `walk` is a whole step: whom it reached first
-- (`frontier`), whom all steps so far (`visited`), and whether it met a limit (`is_cut`). So nobody is visited
-- twice, cycles end, and a step never reads more than `edges_max` relations in a direction nor reaches more than
-- `limit` entities in all. With `as_of`, relations count that held at that moment.
WITH RECURSIVE walk AS (
    SELECT 0 AS depth, ARRAY[%(start_id)s::uuid] AS frontier, ARRAY[%(start_id)s::uuid] AS visited, false AS is_cut
    FROM state.entities
    WHERE entities.tenant_id = %(tenant_id)s AND entities.entity_id = %(start_id)s
      AND entities.created_at <= coalesce(%(as_of)s::timestamptz, 'infinity')
    UNION ALL
    SELECT walk.depth + 1, step.reached, walk.visited || step.reached, step.is_cut
    FROM walk
    CROSS JOIN LATERAL (
        WITH edges AS (
            (
                SELECT to_id AS entity_id, confidence, true AS is_outgoing FROM state.known_relations
                WHERE known_relations.tenant_id = %(tenant_id)s AND known_relations.owner = %(owner)s
                  AND from_id = ANY(walk.frontier) AND (%(kinds)s::text[] IS NULL OR kind = ANY(%(kinds)s::text[]))
                  AND created_at <= coalesce(%(as_of)s::timestamptz, 'infinity')
                  AND removed_at >= coalesce(%(as_of)s::timestamptz, 'infinity')
                LIMIT %(edges_max)s + 1
            )
            UNION ALL
            (
                SELECT from_id, confidence, false FROM state.known_relations
                WHERE known_relations.tenant_id = %(tenant_id)s AND known_relations.owner = %(owner)s
                  AND to_id = ANY(walk.frontier) AND (%(kinds)s::text[] IS NULL OR kind = ANY(%(kinds)s::text[]))
                  AND created_at <= coalesce(%(as_of)s::timestamptz, 'infinity')
                  AND removed_at >= coalesce(%(as_of)s::timestamptz, 'infinity')
                LIMIT %(edges_max)s + 1
            )
        ),
        unseen AS (
            SELECT entity_id, max(confidence) AS confidence
            FROM edges
            GROUP BY entity_id
            HAVING entity_id <> ALL(walk.visited)
        )
        SELECT
            ARRAY(
                SELECT entity_id FROM unseen
                ORDER BY confidence DESC, entity_id
                LIMIT %(limit)s - cardinality(walk.visited)
            ) AS reached,
            EXISTS (SELECT FROM edges GROUP BY is_outgoing HAVING count(*) > %(edges_max)s)
            OR (SELECT count(*) FROM unseen) > %(limit)s - cardinality(walk.visited) AS is_cut
    ) AS step
    WHERE walk.depth < %(depth)s AND cardinality(walk.frontier) > 0
)
SELECT entities.entity_id, entities.category, entities.name, entities.salience, walk.depth,
    (SELECT bool_or(is_cut) FROM walk) AS is_cut
FROM walk
CROSS JOIN unnest(walk.frontier) WITH ORDINALITY AS reached (entity_id, place)
JOIN state.entity_records AS entities
    ON entities.tenant_id = %(tenant_id)s AND entities.entity_id = reached.entity_id
WHERE entities.owner = %(owner)s
ORDER BY walk.depth, reached.place

-- name: between
-- The relations between some entities of an owner, now or at a moment.
SELECT from_id, to_id, kind, confidence, provenance, memory_id, process, created_at, updated_at
FROM state.known_relations
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s
  AND from_id = ANY(%(entity_ids)s::uuid[]) AND to_id = ANY(%(entity_ids)s::uuid[])
  AND (%(kinds)s::text[] IS NULL OR kind = ANY(%(kinds)s::text[]))
  AND created_at <= coalesce(%(as_of)s::timestamptz, 'infinity')
  AND removed_at >= coalesce(%(as_of)s::timestamptz, 'infinity')
ORDER BY from_id, to_id, kind
LIMIT %(relations_max)s
