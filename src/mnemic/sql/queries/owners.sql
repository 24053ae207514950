-- Everything about an owner: erasing, archiving, exporting, importing.

-- name: hold_conversations
-- Locks an owner's conversations: waits for calls that add turns, and blocks new ones.
SELECT conversation FROM state.conversations
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s ORDER BY conversation FOR UPDATE

-- name: erase
-- Deletes everything about an owner; one row per table with the number of deleted rows.
SELECT table_name, row_count FROM mnemic.erase_owner(%(owner)s)

-- name: archive_memories
-- Archives an owner's memories, so that recall ignores them.
UPDATE state.memories
SET status = 'archived', changed_by = 'user', change_reason = 'owner archived'
WHERE tenant_id = %(tenant_id)s
  AND owner = %(owner)s AND status IN ('active', 'pending_review') AND deleted_at IS NULL

-- name: archive_conversations
-- Marks an owner's conversations as archived.
UPDATE state.conversations SET archived_at = now()
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND archived_at IS NULL

-- name: tables
-- The tables that hold rows of owners; referenced tables come first.
SELECT guarded::text AS table_name FROM mnemic.tables_with_owners() ORDER BY depth, guarded::text

-- name: export
-- An owner's rows of one table, as JSON text: parsed in between, numbers would lose digits.
SELECT row::text FROM mnemic.export_rows(%(owner)s, %(table_name)s::regclass) AS row

-- name: defer_references
-- Lets rows of one transaction refer to rows that are inserted later in it.
SET CONSTRAINTS ALL DEFERRED

-- name: import
-- Inserts exported lines of one table; returns how many rows were new.
SELECT mnemic.import_rows(%(table_name)s, %(owner)s, %(lines)s::jsonb) AS imported

-- name: count_foreign_references
-- How many references an owner's rows have to rows of other owners.
SELECT mnemic.count_foreign_references(%(owner)s) AS reference_count

-- name: mark_imported
-- Adds imported memories without a vector to the embedding backlog.
INSERT INTO queue.embedding_backlog (tenant_id, memory_id, last_error)
SELECT tenant_id, memory_id, 'imported'
FROM state.memories
WHERE memories.tenant_id = %(tenant_id)s AND owner = %(owner)s AND memory_id = ANY(%(ids)s::uuid[])
ON CONFLICT DO NOTHING

-- name: count_imported_turns
-- Raises the turn counts of existing conversations to cover imported turns.
UPDATE state.conversations
SET turn_count = greatest(turn_count, imported.next_place)
FROM (
    SELECT owner, conversation, max("position") + 1 AS next_place
    FROM state.memories
    WHERE memories.tenant_id = %(tenant_id)s AND owner = %(owner)s
      AND memory_id = ANY(%(ids)s::uuid[]) AND conversation IS NOT NULL
    GROUP BY owner, conversation
) AS imported
WHERE conversations.tenant_id = %(tenant_id)s
  AND conversations.owner = imported.owner AND conversations.conversation = imported.conversation
  AND turn_count < imported.next_place

-- name: import_old_counts
-- Imports recall counts from older exports, in which they are columns of the memories.
INSERT INTO state.recall_counts (tenant_id, memory_id, retrieval_count, last_retrieved_at)
SELECT memories.tenant_id, given.memory_id, given.retrieval_count, given.last_retrieved_at
FROM jsonb_array_elements(%(lines)s::jsonb) AS line
CROSS JOIN jsonb_to_record(line -> 'row') AS given (memory_id uuid, retrieval_count int, last_retrieved_at timestamptz)
JOIN state.memories ON memories.tenant_id = %(tenant_id)s AND memories.memory_id = given.memory_id
  AND memories.owner = %(owner)s
WHERE given.retrieval_count > 0 OR given.last_retrieved_at IS NOT NULL
ON CONFLICT DO NOTHING

-- name: list
-- The owners of a tenant by name, a page at a time, by a skip scan of the index.
WITH RECURSIVE hop (owner) AS (
    (SELECT owner FROM state.memories
        WHERE memories.tenant_id = %(tenant_id)s AND owner > %(after)s ORDER BY owner LIMIT 1)
    UNION ALL
    SELECT (SELECT memories.owner FROM state.memories
        WHERE memories.tenant_id = %(tenant_id)s AND memories.owner > hop.owner ORDER BY memories.owner LIMIT 1)
    FROM hop WHERE hop.owner IS NOT NULL
)
SELECT owner FROM hop WHERE owner IS NOT NULL LIMIT %(limit)s
