-- State documents: one JSON document per owner and key, with a version that counts its changes.

-- name: set
-- Writes the document and returns it; no row when `expected_version` is not the version it has now (0 means: it
-- must not exist yet; NULL: whatever it is). A version above 0 goes by UPDATE alone, so that a document deleted in
-- the meantime is not brought back.
WITH changed AS (
    UPDATE state.state_documents
    SET document = %(document)s, process = %(process)s, version = version + 1, updated_at = now()
    WHERE state_documents.tenant_id = %(tenant_id)s
      AND owner = %(owner)s AND key = %(key)s AND version = %(expected_version)s::int
    RETURNING owner, key, document, version, process, created_at, updated_at
), written AS (
    INSERT INTO state.state_documents AS kept (tenant_id, owner, key, document, process)
    SELECT %(tenant_id)s, %(owner)s, %(key)s, %(document)s, %(process)s
    WHERE coalesce(%(expected_version)s::int, 0) = 0
    ON CONFLICT (tenant_id, owner, key) DO UPDATE
    SET document = excluded.document, process = excluded.process, version = kept.version + 1, updated_at = now()
    WHERE %(expected_version)s::int IS NULL
    RETURNING owner, key, document, version, process, created_at, updated_at
)
SELECT owner, key, document, version, process, created_at, updated_at FROM changed
UNION ALL
SELECT owner, key, document, version, process, created_at, updated_at FROM written

-- name: get
-- One document.
SELECT owner, key, document, version, process, created_at, updated_at
FROM state.state_documents
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND key = %(key)s

-- name: list
-- The documents of an owner by key, a page at a time.
SELECT owner, key, document, version, process, created_at, updated_at
FROM state.state_documents
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND key > %(after)s AND starts_with(key, %(prefix)s)
ORDER BY key
LIMIT %(limit)s

-- name: delete
-- Deletes the document if it has the expected version (NULL: any).
DELETE FROM state.state_documents
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND key = %(key)s
  AND (%(expected_version)s::int IS NULL OR version = %(expected_version)s::int)
