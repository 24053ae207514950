-- Attributes of processes: one JSON value per owner, process and attribute, with its provenance.

-- name: set
-- Writes the value and returns it.
INSERT INTO state.process_attributes AS kept
    (tenant_id, owner, process, attribute, value, provenance, evidence, confidence, set_by)
VALUES (%(tenant_id)s, %(owner)s, %(process)s, %(attribute)s, %(value)s, %(provenance)s, %(evidence)s,
    %(confidence)s, %(set_by)s)
ON CONFLICT (tenant_id, owner, process, attribute) DO UPDATE
SET value = excluded.value, provenance = excluded.provenance, evidence = excluded.evidence,
    confidence = excluded.confidence, set_by = excluded.set_by, updated_at = now()
RETURNING owner, process, attribute, value, provenance, evidence, confidence, set_by, created_at, updated_at

-- name: get
-- One attribute.
SELECT owner, process, attribute, value, provenance, evidence, confidence, set_by, created_at, updated_at
FROM state.process_attributes
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND process = %(process)s AND attribute = %(attribute)s

-- name: list
-- The attributes of a process by name, a page at a time.
SELECT owner, process, attribute, value, provenance, evidence, confidence, set_by, created_at, updated_at
FROM state.process_attributes
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND process = %(process)s AND attribute > %(after)s
ORDER BY attribute
LIMIT %(limit)s
