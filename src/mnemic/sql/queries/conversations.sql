-- Conversations, their turns (which are memories) and the tools called in them.

-- name: get
-- One conversation.
SELECT owner, conversation, channel, turn_count, metadata, started_at, last_turn_at, archived_at
FROM state.conversations
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND conversation = %(conversation)s

-- name: list
-- Conversations of an owner, the latest first, a page at a time. Without a channel, those outside of open branches.
SELECT owner, conversation, channel, turn_count, metadata, started_at, last_turn_at, archived_at
FROM state.conversations
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s
  AND CASE WHEN %(channel)s::text IS NOT NULL THEN channel = %(channel)s ELSE NOT EXISTS (
      SELECT FROM state.branches
      WHERE branches.tenant_id = %(tenant_id)s AND branches.owner = %(owner)s AND branches.channel = conversations.channel
        AND branches.state = 'open'
  ) END
  AND (%(before)s::timestamptz IS NULL OR last_turn_at < %(before)s)
ORDER BY last_turn_at DESC, conversation
LIMIT %(limit)s

-- name: set_outcome
-- Notes how a conversation ended, beside its other metadata.
UPDATE state.conversations
SET metadata = metadata || jsonb_build_object('outcome', %(outcome)s::text)
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND conversation = %(conversation)s
RETURNING owner, conversation, channel, turn_count, metadata, started_at, last_turn_at, archived_at

-- name: turns
-- Turns of a conversation in order, from a position on; the chunks of a long turn follow each other.
SELECT * FROM state.memory_records
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND conversation = %(conversation)s AND "position" >= %(from_position)s
  AND deleted_at IS NULL
ORDER BY "position", chunk_index
LIMIT %(limit)s

-- name: recent
-- The last turns of an owner in all conversations outside of branches, the newest first.
SELECT * FROM state.memory_records
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND conversation IS NOT NULL AND deleted_at IS NULL
  AND branch IS NULL
ORDER BY memory_id DESC
LIMIT %(limit)s

-- name: recent_of
-- The last turns of one conversation, the last one first.
SELECT * FROM state.memory_records
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND conversation = %(conversation)s AND deleted_at IS NULL
ORDER BY "position" DESC, chunk_index DESC
LIMIT %(limit)s

-- name: add_tool
-- Records a tool call; no row if the conversation or the turn does not exist.
INSERT INTO state.tool_invocations (
    tenant_id, owner, conversation, memory_id, tool, arguments, result, succeeded, duration_ms, at
)
SELECT tenant_id, owner, conversation, %(memory_id)s, %(tool)s, %(arguments)s, %(result)s, %(succeeded)s,
    %(duration_ms)s, coalesce(%(at)s, now())
FROM state.conversations
WHERE conversations.tenant_id = %(tenant_id)s AND owner = %(owner)s AND conversation = %(conversation)s
  AND (
      %(memory_id)s::uuid IS NULL
      OR EXISTS (
          SELECT FROM state.memories
          WHERE memories.tenant_id = %(tenant_id)s
            AND owner = %(owner)s AND memory_id = %(memory_id)s AND conversation = %(conversation)s
      )
  )
RETURNING invocation_id, owner, conversation, memory_id, tool, arguments, result, succeeded, duration_ms, at

-- name: add_tools
-- Records tool calls by the id that the model gave them; those that are recorded already, and those of a conversation that
-- does not exist, are left out.
INSERT INTO state.tool_invocations (tenant_id, owner, conversation, tool, arguments, result, succeeded, call_id)
SELECT conversations.tenant_id, conversations.owner, conversations.conversation, given.tool, given.arguments, given.result,
    given.succeeded, given.call_id
FROM state.conversations
CROSS JOIN jsonb_to_recordset(%(calls)s) AS given (
    tool text, arguments jsonb, result text, succeeded boolean, call_id text
)
WHERE conversations.tenant_id = %(tenant_id)s AND conversations.owner = %(owner)s
  AND conversations.conversation = %(conversation)s
ON CONFLICT (tenant_id, owner, conversation, call_id) WHERE call_id IS NOT NULL DO NOTHING

-- name: recorded_ids
-- External ids of the turns, and ids of the tool calls, that are recorded in a conversation.
SELECT DISTINCT external_id AS id
FROM state.memories
WHERE memories.tenant_id = %(tenant_id)s AND owner = %(owner)s AND conversation = %(conversation)s
  AND external_id IS NOT NULL
UNION ALL
SELECT call_id
FROM state.tool_invocations
WHERE tool_invocations.tenant_id = %(tenant_id)s AND owner = %(owner)s AND conversation = %(conversation)s
  AND call_id IS NOT NULL

-- name: tools
-- Tools called in a conversation, in order.
SELECT invocation_id, owner, conversation, memory_id, tool, arguments, result, succeeded, duration_ms, at
FROM state.tool_invocations
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND conversation = %(conversation)s
ORDER BY at, invocation_id
LIMIT %(limit)s
