-- Reference documents by name; their text is stored as memories.

-- name: get
-- One document, without its text.
SELECT document_id, owner, name, title, whole_id, character_count, metadata, version, process, created_at, updated_at
FROM state.reference_documents
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND name = %(name)s

-- name: list
-- Documents of an owner by name, a page at a time.
SELECT document_id, owner, name, title, whole_id, character_count, metadata, version, process, created_at, updated_at
FROM state.reference_documents
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND name > %(after)s
ORDER BY name
LIMIT %(limit)s

-- name: has_content
-- Whether the document exists with exactly this text, and the text was not forgotten.
SELECT EXISTS (
    SELECT FROM state.reference_documents AS document
    JOIN state.memories
        ON memories.tenant_id = %(tenant_id)s
          AND memory_id = document.whole_id AND status = 'active' AND deleted_at IS NULL
    WHERE document.tenant_id = %(tenant_id)s
      AND document.owner = %(owner)s AND document.name = %(name)s AND document.content_hash = %(content_hash)s
) AS has_content

-- name: lock
-- Locks a document name until the transaction ends, so that concurrent writers take turns.
SELECT pg_advisory_xact_lock(hashtextextended(
    'mnemic.documents ' || mnemic.current_tenant() || ' ' || %(owner)s::text || ' ' || %(name)s::text, 0
))

-- name: put
-- Writes the document and returns it.
INSERT INTO state.reference_documents AS kept (
    tenant_id, owner, name, title, content_hash, whole_id, character_count, metadata, process
)
VALUES (
    %(tenant_id)s, %(owner)s, %(name)s, %(title)s, %(content_hash)s, %(whole_id)s, %(character_count)s, %(metadata)s,
    %(process)s
)
ON CONFLICT (tenant_id, owner, name) DO UPDATE
SET title = excluded.title, content_hash = excluded.content_hash, whole_id = excluded.whole_id,
    character_count = excluded.character_count, metadata = excluded.metadata, process = excluded.process,
    version = kept.version + 1, updated_at = now()
RETURNING document_id, owner, name, title, whole_id, character_count, metadata, version, process, created_at, updated_at

-- name: supersede_text
-- Marks the old text of a document as superseded, unless another document has the same text or the memory existed
-- before the document.
UPDATE state.memories
SET status = 'superseded', superseded_by = %(new_whole_id)s, changed_by = 'system', change_reason = 'document replaced'
WHERE memories.tenant_id = %(tenant_id)s
  AND owner = %(owner)s AND (memory_id = %(whole_id)s OR whole_id = %(whole_id)s) AND status = 'active'
  AND category = 'reference'
  AND NOT EXISTS (
      SELECT FROM state.reference_documents
      WHERE reference_documents.tenant_id = %(tenant_id)s
        AND owner = %(owner)s AND reference_documents.whole_id = %(whole_id)s
  )

-- name: forget_text
-- Forgets the text of a deleted document, unless another document still has the same text, or it is a memory that
-- was there before the document.
UPDATE state.memories
SET deleted_at = now(), changed_by = 'user', change_reason = 'document deleted'
WHERE memories.tenant_id = %(tenant_id)s
  AND owner = %(owner)s AND (memory_id = %(whole_id)s OR whole_id = %(whole_id)s) AND deleted_at IS NULL
  AND category = 'reference'
  AND NOT EXISTS (
      SELECT FROM state.reference_documents
      WHERE reference_documents.tenant_id = %(tenant_id)s
        AND owner = %(owner)s AND reference_documents.whole_id = %(whole_id)s
  )

-- name: delete
-- Deletes the entry of a document.
DELETE FROM state.reference_documents WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND name = %(name)s
