-- Consolidation: which conversations and notes are due, and how far each conversation was read.

-- name: due_conversations
-- Conversations outside of branches with turns that were not read yet, in the order of their keys, after the given one; NULL
-- means any owner or conversation.
SELECT conversations.owner, conversations.conversation, conversations.channel, conversations.turn_count,
    coalesce(progress.next_position, 0) AS next_position
FROM state.conversations
LEFT JOIN state.consolidated_conversations AS progress
    ON progress.tenant_id = %(tenant_id)s AND progress.owner = conversations.owner
    AND progress.conversation = conversations.conversation
WHERE conversations.tenant_id = %(tenant_id)s
  AND (%(owner)s::text IS NULL OR conversations.owner = %(owner)s)
  AND (%(conversation)s::text IS NULL OR conversations.conversation = %(conversation)s)
  AND (conversations.owner, conversations.conversation) > (%(after_owner)s, %(after_conversation)s)
  AND conversations.turn_count > coalesce(progress.next_position, 0)
  AND NOT EXISTS (
      SELECT FROM state.channel_branches AS forked
      WHERE forked.tenant_id = %(tenant_id)s AND forked.owner = conversations.owner
        AND forked.channel = conversations.channel
  )
ORDER BY conversations.owner, conversations.conversation
LIMIT %(limit)s

-- name: turns
-- Turns of a conversation from a position on, in order, and whether each was read. Forgotten turns are left out.
SELECT memories.memory_id, memories.content AS text, memories.role, memories.name,
    coalesce(memories.at, memories.created_at) AS at, memories.conversation, memories."position", memories.provenance,
    false AS is_document,
    EXISTS (
        SELECT FROM state.extraction_runs AS runs
        WHERE runs.tenant_id = %(tenant_id)s AND runs.memory_id = memories.memory_id
    ) AS is_read
FROM state.memories
WHERE memories.tenant_id = %(tenant_id)s AND memories.owner = %(owner)s AND memories.conversation = %(conversation)s
  AND memories."position" >= %(from_position)s AND memories.deleted_at IS NULL
ORDER BY memories."position", memories.chunk_index
LIMIT %(limit)s

-- name: unread
-- Those of these memories that no extractor has read.
SELECT given.memory_id
FROM unnest(%(ids)s::uuid[]) AS given (memory_id)
WHERE NOT EXISTS (
    SELECT FROM state.extraction_runs AS runs
    WHERE runs.tenant_id = %(tenant_id)s AND runs.memory_id = given.memory_id
)

-- name: advance
-- Records that a conversation was read up to a position; it never goes back.
INSERT INTO state.consolidated_conversations AS kept (tenant_id, owner, conversation, next_position)
VALUES (%(tenant_id)s, %(owner)s, %(conversation)s, %(next_position)s)
ON CONFLICT (tenant_id, owner, conversation) DO UPDATE
SET next_position = greatest(kept.next_position, excluded.next_position), consolidated_at = now()

-- name: lock_summary
-- The current summary of a conversation, locked until the transaction ends.
SELECT summary_id FROM state.consolidated_conversations
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND conversation = %(conversation)s
FOR UPDATE

-- name: set_summary
-- Records the summary of a conversation.
UPDATE state.consolidated_conversations SET summary_id = %(summary_id)s, consolidated_at = now()
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND conversation = %(conversation)s

-- name: summarised
-- How many turns the summary of a conversation covers; no row without a summary.
SELECT (memories.metadata ->> 'turn_count')::int AS turn_count
FROM state.consolidated_conversations AS progress
JOIN state.memories ON memories.tenant_id = %(tenant_id)s AND memories.memory_id = progress.summary_id
WHERE progress.tenant_id = %(tenant_id)s AND progress.owner = %(owner)s AND progress.conversation = %(conversation)s

-- name: summary_turns
-- The first and the last turns of a conversation, in order, as a summary reads them.
SELECT memory_id, text, role, name, at
FROM (
    SELECT memories.memory_id, memories.content AS text, memories.role, memories.name, memories."position",
        memories.chunk_index, coalesce(memories.at, memories.created_at) AS at,
        row_number() OVER (ORDER BY memories."position", memories.chunk_index) AS place,
        count(*) OVER () AS turn_count
    FROM state.memories
    WHERE memories.tenant_id = %(tenant_id)s AND memories.owner = %(owner)s
      AND memories.conversation = %(conversation)s AND memories.deleted_at IS NULL
) AS turns
WHERE place <= %(half)s OR place > turn_count - %(half)s
ORDER BY "position", chunk_index

-- name: due_notes
-- Notes and chunks of documents outside of branches that were not read, in the order of their keys, after the given one. Of
-- each document only the first chunks are read. Goals and strategies state nothing about anybody.
SELECT memories.memory_id, memories.owner, memories.channel, memories.content AS text, memories.role, memories.name,
    coalesce(memories.at, memories.created_at) AS at, memories.conversation, memories."position", memories.provenance,
    memories.category = 'reference' OR chunks.memory_id IS NOT NULL AS is_document, false AS is_read
FROM state.memories
LEFT JOIN LATERAL (
    SELECT chunk.memory_id, min(chunk.chunk_index) AS chunk_index FROM state.document_chunks AS chunk
    WHERE chunk.tenant_id = %(tenant_id)s AND chunk.memory_id = memories.memory_id
    GROUP BY chunk.memory_id
) AS chunks ON true
WHERE memories.tenant_id = %(tenant_id)s
  AND (%(owner)s::text IS NULL OR memories.owner = %(owner)s)
  AND (memories.owner, memories.memory_id) > (%(after_owner)s, %(after_id)s::uuid)
  AND memories.conversation IS NULL AND memories.source IN ('user_provided', 'imported')
  AND memories.status = 'active' AND memories.deleted_at IS NULL AND memories.branch IS NULL
  AND coalesce(chunks.chunk_index, memories.chunk_index, 0) < %(chunks_max)s
  AND NOT EXISTS (
      SELECT FROM state.goals
      WHERE goals.tenant_id = %(tenant_id)s AND goals.memory_id = memories.memory_id
  )
  AND NOT EXISTS (
      SELECT FROM state.strategies
      WHERE strategies.tenant_id = %(tenant_id)s AND strategies.memory_id = memories.memory_id
  )
  AND NOT EXISTS (
      SELECT FROM state.extraction_runs AS runs
      WHERE runs.tenant_id = %(tenant_id)s AND runs.memory_id = memories.memory_id
  )
ORDER BY memories.owner, memories.memory_id
LIMIT %(limit)s

-- name: lag
-- One row: turns of the tenant outside of branches that were not read yet, and how long ago the oldest of them was stored.
SELECT
    coalesce(sum(conversations.turn_count - coalesce(progress.next_position, 0)), 0)::bigint AS unread_turn_count,
    extract(epoch FROM now() - min(oldest.created_at))::double precision AS oldest_unread_s
FROM state.conversations
LEFT JOIN state.consolidated_conversations AS progress
    ON progress.tenant_id = %(tenant_id)s AND progress.owner = conversations.owner
    AND progress.conversation = conversations.conversation
LEFT JOIN LATERAL (
    SELECT memories.created_at FROM state.memories
    WHERE memories.tenant_id = %(tenant_id)s AND memories.owner = conversations.owner
      AND memories.conversation = conversations.conversation
      AND memories."position" >= coalesce(progress.next_position, 0)
    ORDER BY memories."position"
    LIMIT 1
) AS oldest ON true
WHERE conversations.tenant_id = %(tenant_id)s AND conversations.turn_count > coalesce(progress.next_position, 0)
  AND NOT EXISTS (
      SELECT FROM state.channel_branches AS forked
      WHERE forked.tenant_id = %(tenant_id)s AND forked.owner = conversations.owner
        AND forked.channel = conversations.channel
  )
