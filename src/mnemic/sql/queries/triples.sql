-- Triples: statements of subject, predicate and object, each once per owner.

-- name: add
-- Makes the statement, or renews what is known about it; evidence is kept unless replaced.
INSERT INTO state.triples AS kept (tenant_id, owner, subject, predicate, object, confidence, provenance, memory_id, process)
VALUES (%(tenant_id)s, %(owner)s, %(subject)s, %(predicate)s, %(object)s, %(confidence)s, %(provenance)s, %(memory_id)s,
    %(process)s)
ON CONFLICT (tenant_id, owner, statement_hash) DO UPDATE
SET confidence = excluded.confidence, provenance = excluded.provenance, process = excluded.process,
    memory_id = coalesce(excluded.memory_id, kept.memory_id)
RETURNING triple_id, owner, subject, predicate, object, confidence, provenance, memory_id, process, recorded_at

-- name: list
-- Statements of an owner, newest first, a page at a time; NULL matches every subject, predicate or object.
SELECT triple_id, owner, subject, predicate, object, confidence, provenance, memory_id, process, recorded_at
FROM state.triples
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s
  AND triple_id < coalesce(%(before)s::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
  AND (%(subject)s::text IS NULL OR subject = %(subject)s)
  AND (%(predicate)s::text IS NULL OR predicate = %(predicate)s)
  AND (%(object)s::text IS NULL OR (object_hash = md5(%(object)s) AND object = %(object)s))
ORDER BY triple_id DESC
LIMIT %(limit)s

-- name: remove
-- Deletes one statement.
DELETE FROM state.triples WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND triple_id = %(triple_id)s
