-- Lists of memories: pages, counts and facets. `filter` is a mnemic.memory_filter (migrations/0028_memory_lists.sql);
-- mnemic.list_memories finds the ids, in the order of the list.

-- name: list
-- One page of an owner's memories.
SELECT records.*
FROM mnemic.list_memories(%(owner)s, %(filter)s::mnemic.memory_filter, %(order)s, %(before)s::uuid, %(limit)s)
    WITH ORDINALITY AS listed (memory_id, place)
CROSS JOIN LATERAL (
    SELECT * FROM state.memory_records AS known
    WHERE known.tenant_id = %(tenant_id)s AND known.memory_id = listed.memory_id
    OFFSET 0
) AS records
ORDER BY listed.place

-- name: list_past
-- The same in the versions that were known at a time, or that a branch reads.
WITH viewed AS MATERIALIZED (
    SELECT mnemic.branch_filter(%(tenant_id)s, %(owner)s, coalesce(%(channel)s::text, '')) AS filter
)
SELECT records.*
FROM viewed
CROSS JOIN mnemic.list_memories(%(owner)s, %(filter)s::mnemic.memory_filter, %(order)s, %(before)s::uuid, %(limit)s)
    WITH ORDINALITY AS listed (memory_id, place)
CROSS JOIN LATERAL (
    SELECT * FROM state.memory_history AS known
    WHERE known.tenant_id = %(tenant_id)s AND known.memory_id = listed.memory_id
      AND coalesce(known.recorded_at <= mnemic.known_at(viewed.filter, known.channel, %(as_of)s::timestamptz), true)
      AND coalesce(
          known.known_until > mnemic.known_at(viewed.filter, known.channel, %(as_of)s::timestamptz),
          known.known_until IS NULL
      )
    ORDER BY known.version DESC
    LIMIT 1
) AS records
ORDER BY listed.place

-- name: salient
-- The ids of the newest memories that match, most salient first.
SELECT records.memory_id
FROM mnemic.list_memories(%(owner)s, %(filter)s::mnemic.memory_filter, 'newest', NULL, %(limit)s) AS listed (memory_id)
CROSS JOIN LATERAL (
    SELECT known.memory_id, known.salience FROM state.memory_records AS known
    WHERE known.tenant_id = %(tenant_id)s AND known.memory_id = listed.memory_id
    OFFSET 0
) AS records
ORDER BY records.salience DESC, records.memory_id DESC

-- name: count
-- How many memories match, counted up to the limit.
SELECT count(*) AS memory_count
FROM mnemic.list_memories(%(owner)s, %(filter)s::mnemic.memory_filter, 'newest', NULL, %(limit)s)
-- The function filters by the verified tenant; this names it for readers.
WHERE %(tenant_id)s::uuid IS NOT NULL

-- name: facets
-- The most frequent values of each field among the newest memories that match, and as `total` how many were counted.
WITH listed AS MATERIALIZED (
    SELECT found.*
    FROM mnemic.list_memories(%(owner)s, %(filter)s::mnemic.memory_filter, 'newest', NULL, %(limit)s) AS listed (memory_id)
    CROSS JOIN LATERAL (
        SELECT category, status, source, role, name, tags FROM state.memories
        WHERE memories.tenant_id = %(tenant_id)s AND memories.memory_id = listed.memory_id
        OFFSET 0
    ) AS found
),
counted AS (
    SELECT
        CASE grouping(category, status, source, role, name)
            WHEN 15 THEN 'category' WHEN 23 THEN 'status' WHEN 27 THEN 'source' WHEN 29 THEN 'role' WHEN 30 THEN 'name'
            ELSE 'total'
        END AS field,
        coalesce(category, status, source, role, name) AS value,
        count(*) AS memory_count
    FROM listed
    GROUP BY GROUPING SETS ((category), (status), (source), (role), (name), ())
    UNION ALL
    SELECT 'tag', tag, count(*)
    FROM listed CROSS JOIN LATERAL unnest(tags) AS tag
    GROUP BY tag
),
ranked AS (
    SELECT *, row_number() OVER (PARTITION BY field ORDER BY memory_count DESC, value) AS place
    FROM counted
    WHERE value IS NOT NULL OR field = 'total'
)
SELECT field, value, memory_count
FROM ranked
WHERE place <= %(values_max)s
ORDER BY field, place
