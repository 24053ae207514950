-- Documents that are ingested in the background: their sources and their chunks.

-- name: get
-- A document with the state of its ingestion; `is_ingested` is false for one that was put.
SELECT
    document.document_id, document.version, document.content_hash, source.document_id IS NOT NULL AS is_ingested,
    source.media_type, source.ingested_version, source.job_id,
    (SELECT count(*) FROM state.document_chunks AS chunk
        WHERE chunk.tenant_id = %(tenant_id)s AND chunk.document_id = document.document_id) AS chunk_count
FROM state.reference_documents AS document
LEFT JOIN state.document_sources AS source
    ON source.tenant_id = %(tenant_id)s AND source.document_id = document.document_id
WHERE document.tenant_id = %(tenant_id)s AND document.owner = %(owner)s AND document.name = %(name)s

-- name: put_source
-- Stores the text of a document, replacing an earlier one.
INSERT INTO state.document_sources AS kept (
    tenant_id, document_id, owner, channel, tags, media_type, content, sections
)
VALUES (
    %(tenant_id)s, %(document_id)s, %(owner)s, %(channel)s, %(tags)s, %(media_type)s, %(content)s, %(sections)s
)
ON CONFLICT (tenant_id, document_id) DO UPDATE
SET channel = excluded.channel, tags = excluded.tags, media_type = excluded.media_type, content = excluded.content,
    sections = excluded.sections

-- name: set_job
-- Records which job ingests a document.
UPDATE state.document_sources SET job_id = %(job_id)s
WHERE tenant_id = %(tenant_id)s AND document_id = %(document_id)s

-- name: has_job
-- Whether a job is unfinished.
SELECT EXISTS (SELECT FROM queue.jobs WHERE tenant_id = %(tenant_id)s AND job_id = %(job_id)s) AS has_job

-- name: source
-- Everything that a job needs in order to ingest a document.
SELECT
    document.document_id, document.owner, document.name, document.version, document.metadata, document.process,
    source.channel, source.tags, source.media_type, source.content, source.sections::text AS sections
FROM state.reference_documents AS document
JOIN state.document_sources AS source
    ON source.tenant_id = %(tenant_id)s AND source.document_id = document.document_id
WHERE document.tenant_id = %(tenant_id)s AND document.document_id = %(document_id)s

-- name: text
-- The text of a document as it was read.
SELECT content FROM state.document_sources WHERE tenant_id = %(tenant_id)s AND document_id = %(document_id)s

-- name: hold_version
-- The version of a document, locked until the transaction ends.
SELECT version FROM state.reference_documents
WHERE tenant_id = %(tenant_id)s AND document_id = %(document_id)s FOR SHARE

-- name: made
-- The existing chunks with the columns that are compared.
SELECT
    content_hash, occurrence, memory_id, chunk_index, start_character, end_character, headings, page, context
FROM state.document_chunks
WHERE tenant_id = %(tenant_id)s AND document_id = %(document_id)s

-- name: add_chunks
-- Adds chunks to a document; those that another job has added stay as they are.
INSERT INTO state.document_chunks (
    tenant_id, document_id, owner, content_hash, occurrence, memory_id, chunk_index, start_character, end_character,
    headings, page, context
)
SELECT
    %(tenant_id)s, %(document_id)s, %(owner)s, decode(content_hash, 'hex'), occurrence, memory_id, chunk_index,
    start_character, end_character, headings, page, context
FROM json_to_recordset(%(chunks)s::json) AS given (
    content_hash text, occurrence int, memory_id uuid, chunk_index int, start_character int, end_character int,
    headings text[], page int, context text
)
ON CONFLICT DO NOTHING

-- name: move_chunks
-- Updates the positions of chunks. OFFSET 0 keeps the planner from reading the whole document for each batch: it
-- looks up each chunk by the primary key.
UPDATE state.document_chunks AS kept
SET chunk_index = given.chunk_index, start_character = given.start_character, end_character = given.end_character,
    headings = given.headings, page = given.page
FROM (
    SELECT
        %(document_id)s::uuid AS document_id, decode(rows.content_hash, 'hex') AS content_hash, rows.occurrence,
        rows.chunk_index, rows.start_character, rows.end_character, rows.headings, rows.page
    FROM json_to_recordset(%(chunks)s::json) AS rows (
        content_hash text, occurrence int, chunk_index int, start_character int, end_character int, headings text[],
        page int
    )
    OFFSET 0
) AS given
WHERE kept.tenant_id = %(tenant_id)s AND kept.document_id = given.document_id
  AND kept.content_hash = given.content_hash AND kept.occurrence = given.occurrence

-- name: describe_memories
-- Updates the headings and pages in the metadata of a document's memories.
UPDATE state.memories AS kept
SET metadata = given.metadata, changed_by = 'system', change_reason = 'document changed'
FROM json_to_recordset(%(memories)s::json) AS given (memory_id uuid, metadata jsonb)
WHERE kept.tenant_id = %(tenant_id)s
  AND kept.memory_id = given.memory_id AND kept.metadata ->> 'document' = %(name)s AND kept.category = 'reference'

-- name: set_contexts
-- Stores the context that is embedded in front of chunks.
UPDATE state.document_chunks AS kept
SET context = given.context
FROM unnest(%(ids)s::uuid[], %(contexts)s::text[]) AS given (memory_id, context)
WHERE kept.tenant_id = %(tenant_id)s AND kept.document_id = %(document_id)s AND kept.memory_id = given.memory_id

-- name: embeddable
-- Memories to embed, without their context, which is about to change.
SELECT memory_id, version, owner, name, content FROM state.memories
WHERE tenant_id = %(tenant_id)s AND memory_id = ANY(%(ids)s::uuid[])

-- name: forget_chunks
-- Forgets the memories of chunks, unless another chunk or document has the same text, or the memory does not come
-- from a document.
UPDATE state.memories AS forgotten
SET deleted_at = now(), changed_by = %(changed_by)s, change_reason = %(reason)s
WHERE forgotten.tenant_id = %(tenant_id)s AND forgotten.memory_id = ANY(%(ids)s::uuid[])
  AND forgotten.deleted_at IS NULL AND forgotten.category = 'reference' AND forgotten.source = 'imported'
  AND NOT EXISTS (SELECT FROM state.document_chunks AS chunk
      WHERE chunk.tenant_id = %(tenant_id)s AND chunk.memory_id = forgotten.memory_id)
  AND NOT EXISTS (
      SELECT FROM state.reference_documents AS document
      WHERE document.tenant_id = %(tenant_id)s
        AND document.owner = forgotten.owner AND document.whole_id = forgotten.memory_id
  )

-- name: remove_chunks
-- Deletes chunks that a document does not have any more; returns their memories. OFFSET 0 as in `move_chunks`.
DELETE FROM state.document_chunks AS gone
USING (
    SELECT %(document_id)s::uuid AS document_id, decode(rows.hash, 'hex') AS content_hash, rows.occurrence
    FROM unnest(string_to_array(%(hashes)s, ' '), %(occurrences)s::int[]) AS rows (hash, occurrence)
    OFFSET 0
) AS given
WHERE gone.tenant_id = %(tenant_id)s AND gone.document_id = given.document_id
  AND gone.content_hash = given.content_hash AND gone.occurrence = given.occurrence
RETURNING gone.memory_id

-- name: remove_all_chunks
-- Deletes all chunks of a document; returns their memories.
DELETE FROM state.document_chunks
WHERE tenant_id = %(tenant_id)s AND document_id = %(document_id)s RETURNING memory_id

-- name: complete
-- Records that all chunks of a version exist.
UPDATE state.document_sources SET ingested_version = %(version)s
WHERE tenant_id = %(tenant_id)s AND document_id = %(document_id)s

-- name: chunks
-- The chunks of a document in order, a page at a time, or those of one memory.
SELECT chunk.chunk_index, chunk.memory_id, chunk.start_character, chunk.end_character, chunk.headings, chunk.page
FROM state.document_chunks AS chunk
WHERE tenant_id = %(tenant_id)s AND chunk.document_id = %(document_id)s AND chunk.chunk_index > %(after)s
  AND (%(memory_id)s::uuid IS NULL OR chunk.memory_id = %(memory_id)s)
ORDER BY chunk.chunk_index
LIMIT %(limit)s
