-- Statements: memories that extraction made, what they rest on, and which sources were read.

-- name: lock_owner
-- Waits until no other transaction stores statements of this owner.
SELECT pg_advisory_xact_lock(hashtextextended(
    'mnemic.statements ' || mnemic.current_tenant() || ' ' || %(owner)s::text, 0
))

-- name: mark
-- Marks sources as read by an extractor; returns those that were not marked before.
INSERT INTO state.extraction_runs (tenant_id, memory_id, extractor, statement_count, rejected_count)
SELECT %(tenant_id)s, given.memory_id, %(extractor)s, given.statement_count, given.rejected_count
FROM unnest(%(ids)s::uuid[], %(statement_counts)s::int[], %(rejected_counts)s::int[])
    AS given (memory_id, statement_count, rejected_count)
JOIN state.memories ON memories.tenant_id = %(tenant_id)s AND memories.memory_id = given.memory_id
WHERE memories.owner = %(owner)s
ORDER BY given.memory_id
ON CONFLICT DO NOTHING
RETURNING memory_id

-- name: repeated
-- Which of the given statements an owner has already: current ones, those that wait for review, and those from one of the given
-- sources that were forgotten. LATERAL with OFFSET 0 makes it one index lookup per statement.
SELECT given.index, known.memory_id, memories.deleted_at IS NOT NULL AS is_forgotten
FROM unnest(
    %(indexes)s::int[], %(subjects)s::text[], %(attributes)s::text[], %(values)s::text[], %(negated)s::boolean[],
    %(past)s::boolean[], %(source_ids)s::uuid[]
) AS given (index, subject, attribute, value, is_negated, is_past, source_id)
CROSS JOIN LATERAL (
    SELECT slot.memory_id FROM state.statements AS slot
    WHERE slot.tenant_id = %(tenant_id)s AND slot.owner = %(owner)s AND slot.channel = %(channel)s
      AND slot.subject_key = mnemic.name_key(given.subject) AND slot.attribute = given.attribute
      AND slot.value_key = mnemic.name_key(given.value) AND slot.is_negated = given.is_negated
      AND (slot.tense = 'past') = given.is_past
    OFFSET 0
) AS known
JOIN state.memories ON memories.tenant_id = %(tenant_id)s AND memories.memory_id = known.memory_id
WHERE CASE
    WHEN memories.deleted_at IS NULL THEN memories.status IN ('active', 'pending_review')
    ELSE EXISTS (
        SELECT FROM state.statement_sources AS sources
        WHERE sources.tenant_id = %(tenant_id)s AND sources.memory_id = known.memory_id
          AND sources.source_id = given.source_id
    )
END
ORDER BY given.index, is_forgotten, known.memory_id

-- name: add
-- Adds the rows that make memories statements; a memory that is one already keeps its row.
INSERT INTO state.statements (
    tenant_id, memory_id, owner, channel, subject, attribute, value, is_single_valued, is_negated, certainty, tense,
    extractor
)
SELECT %(tenant_id)s, given.memory_id, %(owner)s, %(channel)s, given.subject, given.attribute, given.value,
    given.is_single_valued, given.is_negated, given.certainty, given.tense, %(extractor)s
FROM unnest(
    %(ids)s::uuid[], %(subjects)s::text[], %(attributes)s::text[], %(values)s::text[], %(single_valued)s::boolean[],
    %(negated)s::boolean[], %(certainties)s::text[], %(tenses)s::text[]
) AS given (memory_id, subject, attribute, value, is_single_valued, is_negated, certainty, tense)
ON CONFLICT DO NOTHING
RETURNING memory_id

-- name: add_sources
-- Records what statements rest on, with the quotations.
INSERT INTO state.statement_sources (tenant_id, memory_id, source_id, quotation)
SELECT %(tenant_id)s, given.memory_id, given.source_id, given.quotation
FROM unnest(%(ids)s::uuid[], %(source_ids)s::uuid[], %(quotations)s::text[]) AS given (memory_id, source_id, quotation)
ORDER BY given.memory_id, given.source_id
ON CONFLICT DO NOTHING

-- name: add_rejected
-- Keeps proposals that were not accepted.
INSERT INTO state.rejected_statements (tenant_id, memory_id, extractor, reason, statement)
SELECT %(tenant_id)s, given.memory_id, %(extractor)s, given.reason, given.statement
FROM unnest(%(ids)s::uuid[], %(reasons)s::text[], %(statements)s::jsonb[]) AS given (memory_id, reason, statement)

-- name: add_triples
-- Adds the triples of current statements outside of branches, which belong to all channels; a triple that exists keeps its origin.
INSERT INTO state.triples (tenant_id, owner, subject, predicate, object, confidence, provenance, memory_id, process)
SELECT DISTINCT ON (statements.subject, statements.attribute, statements.value)
    %(tenant_id)s, statements.owner, statements.subject, statements.attribute, statements.value, memories.confidence,
    memories.provenance, memories.memory_id, memories.process
FROM unnest(%(ids)s::uuid[]) AS given (memory_id)
JOIN state.statements ON statements.tenant_id = %(tenant_id)s AND statements.memory_id = given.memory_id
JOIN state.memories ON memories.tenant_id = %(tenant_id)s AND memories.memory_id = given.memory_id
WHERE NOT statements.is_negated AND statements.tense = 'current' AND memories.status = 'active'
  AND memories.deleted_at IS NULL AND memories.branch IS NULL
ORDER BY statements.subject, statements.attribute, statements.value
ON CONFLICT DO NOTHING

-- name: link_sources
-- Relates statements to further sources.
INSERT INTO state.memory_relationships (tenant_id, from_id, to_id, kind, process)
SELECT %(tenant_id)s, given.memory_id, given.source_id, 'derived_from', %(process)s
FROM unnest(%(ids)s::uuid[], %(source_ids)s::uuid[]) AS given (memory_id, source_id)
WHERE given.memory_id <> given.source_id
ORDER BY given.memory_id, given.source_id
ON CONFLICT DO NOTHING

-- name: attribute_kinds
-- Attributes that the tenant has declared.
SELECT attribute, is_single_valued FROM state.attribute_kinds WHERE tenant_id = %(tenant_id)s ORDER BY attribute

-- name: known
-- Current statements of an owner in a channel, newest first, for extractors.
SELECT statements.memory_id, memories.content AS statement, statements.subject, statements.attribute, statements.value,
    statements.is_negated
FROM state.statements
JOIN state.memories ON memories.tenant_id = %(tenant_id)s AND memories.memory_id = statements.memory_id
WHERE statements.tenant_id = %(tenant_id)s AND statements.owner = %(owner)s AND statements.channel = %(channel)s
  AND memories.status = 'active' AND memories.deleted_at IS NULL
ORDER BY statements.memory_id DESC
LIMIT %(limit)s

-- name: recalled
-- Which of these texts are, word for word, the content of another memory of the owner.
SELECT known.index
FROM mnemic.known_memories(%(tenant_id)s, %(owner)s, '{}', '{}', %(indexes)s::int[], %(hashes)s, NULL) AS known
WHERE known.memory_id <> ALL(%(source_ids)s::uuid[])

-- name: rivals
-- The current statements that the given ones may contradict, and the given ones themselves: those of the same owner,
-- channel, subject and attribute (or the opposite attribute) with the same value, all others of single-valued attributes, and
-- those that are to be replaced. `begins_at` is since when a statement is true; `true_at` orders statements: the beginning if it
-- was said, else when it was last said. LATERAL with OFFSET 0 makes it one index lookup per statement.
SELECT given.memory_id AS new_id, known.memory_id, known.attribute, known.is_negated, known.tense, known.is_single_valued,
    known.value_key = own.value_key AS is_same_value, memories.anchored, memories.provenance, memories.valid_from,
    memories.valid_to, coalesce(memories.valid_from, memories.at, memories.created_at) AS begins_at,
    CASE
        WHEN memories.valid_from <> memories.at THEN memories.valid_from
        ELSE greatest(memories.at, coalesce(said.last_at, memories.created_at))
    END AS true_at
FROM unnest(%(ids)s::uuid[], %(opposites)s::text[], %(replaced_ids)s::uuid[]) AS given (memory_id, opposite, replaced_id)
JOIN state.statements AS own ON own.tenant_id = %(tenant_id)s AND own.memory_id = given.memory_id
CROSS JOIN LATERAL (
    SELECT slot.* FROM state.statements AS slot
    WHERE slot.tenant_id = %(tenant_id)s AND slot.owner = %(owner)s AND slot.channel = own.channel
      AND slot.subject_key = own.subject_key AND slot.attribute = ANY(ARRAY[own.attribute, given.opposite])
      AND (
          slot.value_key = own.value_key OR slot.memory_id = given.replaced_id
          OR (own.is_single_valued AND slot.attribute = own.attribute)
      )
    OFFSET 0
) AS known
CROSS JOIN LATERAL (
    SELECT * FROM state.memories
    WHERE memories.tenant_id = %(tenant_id)s AND memories.memory_id = known.memory_id
      AND memories.status = 'active' AND memories.deleted_at IS NULL
    OFFSET 0
) AS memories
CROSS JOIN LATERAL (
    SELECT max(coalesce(source.at, source.created_at)) AS last_at
    FROM state.statement_sources AS sources
    JOIN state.memories AS source ON source.tenant_id = %(tenant_id)s AND source.memory_id = sources.source_id
    WHERE sources.tenant_id = %(tenant_id)s AND sources.memory_id = known.memory_id
) AS said
ORDER BY true_at, known.memory_id

-- name: policies
-- The policies for contradictions of a channel and of the tenant.
SELECT channel, policy FROM state.contradiction_policies
WHERE tenant_id = %(tenant_id)s AND channel IN (%(channel)s, '')

-- name: list_policies
-- All policies for contradictions of the tenant.
SELECT channel, policy FROM state.contradiction_policies WHERE tenant_id = %(tenant_id)s ORDER BY channel

-- name: set_policy
-- Sets the policy of a channel, or of the tenant ('').
INSERT INTO state.contradiction_policies (tenant_id, channel, policy)
VALUES (%(tenant_id)s, %(channel)s, %(policy)s)
ON CONFLICT (tenant_id, channel) DO UPDATE SET policy = excluded.policy
RETURNING channel, policy

-- name: remove_policy
-- Removes the policy of a channel, or of the tenant ('').
DELETE FROM state.contradiction_policies WHERE tenant_id = %(tenant_id)s AND channel = %(channel)s

-- name: set_attribute_kind
-- Declares an attribute as single-valued or many-valued.
INSERT INTO state.attribute_kinds (tenant_id, attribute, is_single_valued)
VALUES (%(tenant_id)s, %(attribute)s, %(is_single_valued)s)
ON CONFLICT (tenant_id, attribute) DO UPDATE SET is_single_valued = excluded.is_single_valued

-- name: remove_attribute_kind
-- Removes a declaration; the built-in kind holds again.
DELETE FROM state.attribute_kinds WHERE tenant_id = %(tenant_id)s AND attribute = %(attribute)s

-- name: list
-- Statements of an owner, newest first, a page at a time; NULL matches every subject, attribute or status.
SELECT statements.memory_id, statements.owner, statements.channel, memories.content AS statement, statements.subject,
    statements.attribute, statements.value, statements.is_single_valued, statements.is_negated, statements.certainty,
    statements.tense, statements.extractor, memories.status, memories.at, memories.valid_from, memories.valid_to,
    (
        SELECT count(*) FROM state.statement_sources AS sources
        WHERE sources.tenant_id = %(tenant_id)s AND sources.memory_id = statements.memory_id
    ) AS source_count
FROM state.statements
JOIN state.memories ON memories.tenant_id = %(tenant_id)s AND memories.memory_id = statements.memory_id
WHERE statements.tenant_id = %(tenant_id)s AND statements.owner = %(owner)s
  AND statements.memory_id < coalesce(%(before)s::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
  AND (%(subject)s::text IS NULL OR statements.subject_key = mnemic.name_key(%(subject)s))
  AND (%(attribute)s::text IS NULL OR statements.attribute = %(attribute)s)
  AND (%(status)s::text IS NULL OR memories.status = %(status)s) AND memories.deleted_at IS NULL
ORDER BY statements.memory_id DESC
LIMIT %(limit)s

-- name: list_rejected
-- Proposals about an owner's memories that were not accepted, newest first, a page at a time.
SELECT rejected.rejected_id, rejected.memory_id AS source_id, rejected.extractor, rejected.reason, rejected.statement,
    rejected.rejected_at
FROM state.rejected_statements AS rejected
JOIN state.memories ON memories.tenant_id = %(tenant_id)s AND memories.memory_id = rejected.memory_id
WHERE rejected.tenant_id = %(tenant_id)s AND memories.owner = %(owner)s AND memories.deleted_at IS NULL
  AND rejected.rejected_id < coalesce(%(before)s::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
ORDER BY rejected.rejected_id DESC
LIMIT %(limit)s
