-- The map of an owner's memories. It holds active memories outside of branches; what was forgotten since is left out when it is
-- read.

-- name: chosen
-- The memories to put on the map: the newest ones and, among the others, the most salient; in the order of salience.
WITH newest AS (
    SELECT memory_id, content, salience FROM state.memory_records
    WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s
      AND status = 'active' AND deleted_at IS NULL AND branch IS NULL
    ORDER BY memory_id DESC
    LIMIT %(newest_max)s
),
salient AS (
    SELECT memory_id, content, salience FROM state.memory_records
    WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s
      AND status = 'active' AND deleted_at IS NULL AND branch IS NULL
      AND memory_id < (SELECT memory_id FROM newest ORDER BY memory_id LIMIT 1)
    ORDER BY salience DESC, memory_id DESC
    LIMIT %(salient_max)s
)
SELECT chosen.memory_id, left(chosen.content, %(read_max)s) AS content
FROM (SELECT * FROM newest UNION ALL SELECT * FROM salient) AS chosen
ORDER BY chosen.salience DESC, chosen.memory_id DESC

-- name: is_current
-- Whether the newest memory of an owner is on its map, and the map was made from vectors of this model.
SELECT EXISTS (
    SELECT FROM vectors.memory_positions AS positions
    WHERE positions.tenant_id = %(tenant_id)s AND positions.model = %(model)s
      AND positions.memory_id = (
          SELECT memory_id FROM state.memories
          WHERE memories.tenant_id = %(tenant_id)s AND memories.owner = %(owner)s AND memories.status = 'active'
            AND memories.deleted_at IS NULL AND memories.branch IS NULL
          ORDER BY memory_id DESC LIMIT 1
      )
) AS is_current

-- name: hold
-- Those of these memories that still exist, locked against erasure until the transaction ends.
SELECT memory_id FROM state.memories
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND memory_id = ANY(%(memory_ids)s::uuid[])
ORDER BY memory_id
FOR KEY SHARE

-- name: delete_positions
-- Deletes the positions of an owner's map.
DELETE FROM vectors.memory_positions WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s

-- name: delete_regions
-- Deletes the regions of an owner's map.
DELETE FROM vectors.map_regions WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s

-- name: add_positions
-- Stores the positions of those memories that exist. A position that another job has just stored stays.
INSERT INTO vectors.memory_positions (tenant_id, memory_id, owner, model, x, y, region, place, made_at)
SELECT memories.tenant_id, memories.memory_id, memories.owner, %(model)s, given.x, given.y, given.region, given.place, now()
FROM unnest(%(memory_ids)s::uuid[], %(x)s::real[], %(y)s::real[], %(regions)s::int[]) WITH ORDINALITY
    AS given (memory_id, x, y, region, place)
JOIN state.memories
    ON memories.tenant_id = %(tenant_id)s AND memories.memory_id = given.memory_id AND memories.owner = %(owner)s
ON CONFLICT DO NOTHING

-- name: add_region
-- Stores a region, if the memory in its middle exists.
INSERT INTO vectors.map_regions (tenant_id, owner, region, x, y, words, memory_id)
SELECT memories.tenant_id, memories.owner, %(region)s, %(x)s, %(y)s, %(words)s, memories.memory_id
FROM state.memories
WHERE memories.tenant_id = %(tenant_id)s AND memories.memory_id = %(memory_id)s AND memories.owner = %(owner)s
ON CONFLICT DO NOTHING

-- name: points
-- The positions of memories that are active now, the most salient first, with the beginning of their texts. The owner is compared
-- by IS TRUE, which no index serves: so each memory is looked up by its id, however many others the owner has.
SELECT positions.memory_id, positions.x, positions.y, positions.region, memories.category,
    left(memories.content, %(text_max)s) AS text
FROM vectors.memory_positions AS positions
JOIN state.memories ON memories.tenant_id = %(tenant_id)s AND memories.memory_id = positions.memory_id
WHERE positions.tenant_id = %(tenant_id)s AND positions.owner = %(owner)s AND (memories.owner = %(owner)s) IS TRUE
  AND memories.status = 'active' AND memories.deleted_at IS NULL AND memories.branch IS NULL
  AND (%(region)s::int IS NULL OR positions.region = %(region)s)
  AND (%(categories)s::text[] IS NULL OR memories.category = ANY(%(categories)s::text[]))
ORDER BY positions.place
LIMIT %(limit)s

-- name: counts
-- How many memories on the map are active now, by region and category.
SELECT positions.region, memories.category, count(*) AS memory_count
FROM vectors.memory_positions AS positions
JOIN state.memories ON memories.tenant_id = %(tenant_id)s AND memories.memory_id = positions.memory_id
WHERE positions.tenant_id = %(tenant_id)s AND positions.owner = %(owner)s AND (memories.owner = %(owner)s) IS TRUE
  AND memories.status = 'active' AND memories.deleted_at IS NULL AND memories.branch IS NULL
GROUP BY positions.region, memories.category

-- name: regions
-- The regions of the map. A word is shown only if a memory of the region that is active now contains it.
SELECT regions.region, regions.x, regions.y,
    ARRAY(
        SELECT word.word
        FROM unnest(regions.words) WITH ORDINALITY AS word (word, place)
        WHERE (
            SELECT true
            FROM vectors.memory_positions AS positions
            CROSS JOIN LATERAL (
                SELECT memories.content
                FROM state.memories
                WHERE memories.tenant_id = %(tenant_id)s AND memories.memory_id = positions.memory_id
                  AND memories.owner = %(owner)s
                  AND memories.status = 'active' AND memories.deleted_at IS NULL AND memories.branch IS NULL
                LIMIT 1
            ) AS active
            WHERE positions.tenant_id = %(tenant_id)s AND positions.owner = %(owner)s
              AND positions.region = regions.region
              AND strpos(mnemic.fold(left(active.content, %(read_max)s)), word.word) > 0
            LIMIT 1
        )
        ORDER BY word.place
    ) AS words
FROM vectors.map_regions AS regions
WHERE regions.tenant_id = %(tenant_id)s AND regions.owner = %(owner)s
ORDER BY regions.region

-- name: state
-- When and from which model the map was made, which model serves now, and the state of the job that makes it again.
SELECT
    made.made_at, made.model,
    (SELECT used.model FROM vectors.tenant_models AS used WHERE used.tenant_id = %(tenant_id)s) AS serving_model,
    (
        SELECT jobs.state FROM queue.jobs
        WHERE jobs.tenant_id = %(tenant_id)s AND state = 'running' AND type = %(type)s AND jobs.owner = %(owner)s
        UNION ALL
        SELECT jobs.state FROM queue.jobs
        WHERE jobs.tenant_id = %(tenant_id)s AND state = 'waiting' AND type = %(type)s AND jobs.owner = %(owner)s
        UNION ALL
        SELECT jobs.state FROM queue.jobs
        WHERE jobs.tenant_id = %(tenant_id)s AND state = 'scheduled' AND type = %(type)s AND jobs.owner = %(owner)s
        LIMIT 1
    ) AS job_state
FROM (SELECT %(owner)s::text AS owner) AS wanted
LEFT JOIN LATERAL (
    SELECT positions.made_at, positions.model FROM vectors.memory_positions AS positions
    WHERE positions.tenant_id = %(tenant_id)s AND positions.owner = wanted.owner
    ORDER BY positions.place LIMIT 1
) AS made ON true
