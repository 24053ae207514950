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

-- name: list_by_name
-- Entities of an owner in the order of their names, a page at a time: those after the entity `before`.
SELECT records.*
FROM (
    SELECT entity_id, name_key
    FROM state.entities
    WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s
      AND (%(category)s::text IS NULL OR category = mnemic.name_key(%(category)s))
      AND name_key ~>=~ coalesce(%(after_name)s::text, '')
      AND (
          %(after_name)s::text IS NULL OR name_key ~>~ %(after_name)s
          OR (name_key = %(after_name)s AND entity_id > %(before)s::uuid)
      )
    ORDER BY name_key USING ~<~, entity_id
    LIMIT %(limit)s
) AS page
JOIN state.entity_records AS records ON records.tenant_id = %(tenant_id)s AND records.entity_id = page.entity_id
WHERE records.owner = %(owner)s
ORDER BY page.name_key USING ~<~, page.entity_id

-- name: name_of
-- The name by which an entity is sorted.
SELECT name_key AS after_name FROM state.entities
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND entity_id = %(before)s

-- name: list_ranked
-- Entities of an owner, by `order`, a page at a time: those after the entity `before`. `ranked_max` bounds how many are
-- compared: those of the highest stored salience, which the current one never exceeds; with a prefix, those that have a name
-- that begins so, in the order of the names.
WITH matching AS MATERIALIZED (
    (
        SELECT entity_id, name_key, salience, updated_at
        FROM state.entities
        WHERE %(prefix)s::text IS NULL AND tenant_id = %(tenant_id)s AND owner = %(owner)s
          AND (%(category)s::text IS NULL OR category = mnemic.name_key(%(category)s))
        ORDER BY salience DESC, entity_id DESC
        LIMIT %(ranked_max)s
    )
    UNION ALL
    (
        SELECT entities.entity_id, entities.name_key, entities.salience, entities.updated_at
        FROM (
            SELECT DISTINCT found.entity_id
            FROM (
                SELECT entity_id
                FROM state.entity_names
                WHERE %(prefix)s::text IS NOT NULL AND tenant_id = %(tenant_id)s AND owner = %(owner)s
                  AND name_key ~>=~ '' AND name_key ~>=~ mnemic.name_key(%(prefix)s)
                  AND name_key ~<~ (mnemic.name_key(%(prefix)s) || chr(1114111))
                ORDER BY name_key USING ~<~
                LIMIT %(ranked_max)s
            ) AS found
        ) AS named
        JOIN state.entities ON entities.tenant_id = %(tenant_id)s AND entities.entity_id = named.entity_id
        WHERE %(category)s::text IS NULL OR entities.category = mnemic.name_key(%(category)s)
    )
),
ranked AS (
    SELECT entity_id, name_key,
        CASE %(order)s::text
            WHEN 'salience' THEN mnemic.entity_salience(
                salience, updated_at,
                (
                    SELECT mentioning.created_at
                    FROM state.memory_entities AS links
                    JOIN state.memories AS mentioning
                        ON mentioning.tenant_id = %(tenant_id)s AND mentioning.memory_id = links.memory_id
                    WHERE links.tenant_id = %(tenant_id)s AND links.entity_id = matching.entity_id
                    ORDER BY links.memory_id DESC LIMIT 1
                ),
                now()
            )
            WHEN 'mentions' THEN (
                SELECT count(*) FROM (
                    SELECT FROM state.memory_entities AS links
                    WHERE links.tenant_id = %(tenant_id)s AND links.entity_id = matching.entity_id
                    LIMIT %(counted_max)s
                ) AS counted
            )
            ELSE 0
        END AS rank
    FROM matching
),
placed AS MATERIALIZED (
    SELECT entity_id, row_number() OVER (
        ORDER BY rank DESC, CASE WHEN %(order)s::text = 'newest' THEN '' ELSE name_key END USING ~<~, entity_id DESC
    ) AS place
    FROM ranked
),
page AS (
    SELECT entity_id, place
    FROM placed
    WHERE %(before)s::uuid IS NULL OR place > (SELECT last.place FROM placed AS last WHERE last.entity_id = %(before)s)
    ORDER BY place
    LIMIT %(limit)s
)
SELECT records.*
FROM page
JOIN state.entity_records AS records ON records.tenant_id = %(tenant_id)s AND records.entity_id = page.entity_id
WHERE records.owner = %(owner)s
ORDER BY page.place

-- name: most_salient
-- The most salient entities that existed at a moment, or now; `ranked_max` bounds how many are compared: those of the
-- highest stored salience, which the current one never exceeds.
WITH matching AS MATERIALIZED (
    SELECT entity_id, category, name, salience, updated_at
    FROM state.entities
    WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s
      AND (%(category)s::text IS NULL OR category = mnemic.name_key(%(category)s))
      AND created_at <= coalesce(%(as_of)s::timestamptz, 'infinity')
    ORDER BY salience DESC, entity_id DESC
    LIMIT %(ranked_max)s
)
SELECT entity_id, category, name,
    mnemic.entity_salience(
        salience, updated_at,
        (
            SELECT mentioning.created_at
            FROM state.memory_entities AS links
            JOIN state.memories AS mentioning
                ON mentioning.tenant_id = %(tenant_id)s AND mentioning.memory_id = links.memory_id
            WHERE links.tenant_id = %(tenant_id)s AND links.entity_id = matching.entity_id
            ORDER BY links.memory_id DESC LIMIT 1
        ),
        now()
    ) AS salience
FROM matching
ORDER BY salience DESC, entity_id
LIMIT %(limit)s

-- name: counts
-- How many memories mention each of these entities, how many facts hold, and how many relations it has in either direction;
-- each at most `counted_max`.
SELECT wanted.entity_id, mentions.mention_count, facts.fact_count, relations.relation_count
FROM unnest(%(entity_ids)s::uuid[]) AS wanted (entity_id)
CROSS JOIN LATERAL (
    SELECT count(*) AS mention_count FROM (
        SELECT FROM state.memory_entities AS links
        WHERE links.tenant_id = %(tenant_id)s AND links.entity_id = wanted.entity_id
        LIMIT %(counted_max)s
    ) AS counted
) AS mentions
CROSS JOIN LATERAL (
    SELECT count(*) AS fact_count FROM (
        SELECT FROM state.entity_facts AS facts
        WHERE facts.tenant_id = %(tenant_id)s AND facts.entity_id = wanted.entity_id AND facts.retired_at IS NULL
        LIMIT %(counted_max)s
    ) AS counted
) AS facts
CROSS JOIN LATERAL (
    SELECT count(*) AS relation_count FROM (
        (
            SELECT FROM state.entity_relations AS leaving
            WHERE leaving.tenant_id = %(tenant_id)s AND leaving.from_id = wanted.entity_id
            LIMIT %(counted_max)s
        )
        UNION ALL
        (
            SELECT FROM state.entity_relations AS arriving
            WHERE arriving.tenant_id = %(tenant_id)s AND arriving.to_id = wanted.entity_id
            LIMIT %(counted_max)s
        )
        LIMIT %(counted_max)s
    ) AS counted
) AS relations

-- name: totals
-- How many entities an owner has by category, or those that have a name that begins with the prefix; `ranked_max` bounds how
-- many are counted.
SELECT category, count(*) AS entity_count
FROM (
    (
        SELECT category FROM state.entities
        WHERE %(prefix)s::text IS NULL AND tenant_id = %(tenant_id)s AND owner = %(owner)s
          AND (%(category)s::text IS NULL OR category = mnemic.name_key(%(category)s))
        LIMIT %(ranked_max)s
    )
    UNION ALL
    (
        SELECT entities.category
        FROM (
            SELECT DISTINCT found.entity_id
            FROM (
                SELECT entity_id
                FROM state.entity_names
                WHERE %(prefix)s::text IS NOT NULL AND tenant_id = %(tenant_id)s AND owner = %(owner)s
                  AND name_key ~>=~ '' AND name_key ~>=~ mnemic.name_key(%(prefix)s)
                  AND name_key ~<~ (mnemic.name_key(%(prefix)s) || chr(1114111))
                ORDER BY name_key USING ~<~
                LIMIT %(ranked_max)s
            ) AS found
        ) AS named
        JOIN state.entities ON entities.tenant_id = %(tenant_id)s AND entities.entity_id = named.entity_id
        WHERE %(category)s::text IS NULL OR entities.category = mnemic.name_key(%(category)s)
    )
) AS counted
GROUP BY category
ORDER BY entity_count DESC, category

-- name: read_as_of
-- An entity with the names and facts that it had at a moment; no row if it did not exist yet. Salience is that of now.
SELECT entity_id, owner, category, name,
    ARRAY(
        SELECT aliases.name FROM state.entity_names AS aliases
        WHERE aliases.tenant_id = %(tenant_id)s AND aliases.entity_id = records.entity_id
          AND aliases.name_key <> mnemic.name_key(records.name) AND aliases.created_at <= %(as_of)s
        ORDER BY aliases.name_key
    ) AS aliases,
    (
        SELECT coalesce(jsonb_object_agg(facts.attribute, facts.value), '{}') FROM state.entity_facts AS facts
        WHERE facts.tenant_id = %(tenant_id)s AND facts.entity_id = records.entity_id
          AND facts.recorded_at <= %(as_of)s AND coalesce(facts.retired_at > %(as_of)s, true)
    ) AS facts,
    salience, metadata, process, version, created_at, updated_at
FROM state.entity_records AS records
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND entity_id = %(entity_id)s AND created_at <= %(as_of)s

-- name: hold
-- Which of these entities the owner has; they cannot be deleted until the transaction ends.
SELECT entity_id
FROM state.entities
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND entity_id = ANY(%(entity_ids)s::uuid[])
ORDER BY entity_id
FOR KEY SHARE
