-- Strategies: memories of the category `procedural`, with a task, tools and the outcomes of their uses; and statistics of
-- tools.

-- name: add
-- Makes a memory a strategy; if it is one already, its tools are replaced where some are given.
INSERT INTO state.strategies AS kept (tenant_id, memory_id, owner, task, tools, is_mined)
VALUES (%(tenant_id)s, %(strategy_id)s, %(owner)s, %(task)s, %(tools)s, %(is_mined)s)
ON CONFLICT (tenant_id, memory_id) DO UPDATE
SET tools = CASE WHEN excluded.tools = '{}' THEN kept.tools ELSE excluded.tools END

-- name: get
-- One strategy whose memory is active.
SELECT * FROM state.strategy_records
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND strategy_id = %(strategy_id)s

-- name: get_many
-- Those of the given memories that are strategies.
SELECT * FROM state.strategy_records
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND strategy_id = ANY (%(ids)s)

-- name: list
-- Strategies of an owner outside of branches, newest first, a page at a time.
SELECT * FROM state.strategy_records
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s
  AND (%(before)s::uuid IS NULL OR strategy_id < %(before)s)
  AND (%(tool)s::text IS NULL OR %(tool)s = ANY (tools))
  AND (%(is_mined)s::boolean IS NULL OR is_mined = %(is_mined)s)
  AND mnemic.branch_of(%(tenant_id)s, %(owner)s, channel) IS NULL
ORDER BY strategy_id DESC
LIMIT %(limit)s

-- name: lock
-- Locks a strategy until the transaction ends, so that counts and uses agree.
SELECT memory_id FROM state.strategies
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND memory_id = %(strategy_id)s FOR UPDATE

-- name: add_use
-- Records a use of a strategy.
INSERT INTO state.strategy_uses (tenant_id, owner, strategy_id, conversation, succeeded, note)
VALUES (%(tenant_id)s, %(owner)s, %(strategy_id)s, %(conversation)s, %(succeeded)s, %(note)s)

-- name: add_mined_uses
-- Records the conversations in which a mined pattern was used, each once; returns how many were new, by their outcome.
WITH added AS (
    INSERT INTO state.strategy_uses (tenant_id, owner, strategy_id, conversation, succeeded)
    SELECT %(tenant_id)s, %(owner)s, %(strategy_id)s, used.conversation, used.succeeded
    FROM unnest(%(conversations)s::text[], %(outcomes)s::boolean[]) AS used (conversation, succeeded)
    WHERE NOT EXISTS (
        SELECT FROM state.strategy_uses AS known
        WHERE known.tenant_id = %(tenant_id)s AND known.strategy_id = %(strategy_id)s
          AND known.conversation = used.conversation
    )
    RETURNING succeeded
)
SELECT count(*) FILTER (WHERE succeeded) AS success_count, count(*) FILTER (WHERE NOT succeeded) AS failure_count FROM added

-- name: count_uses
-- Adds new uses to the counts of a strategy.
UPDATE state.strategies
SET success_count = success_count + %(success_count)s, failure_count = failure_count + %(failure_count)s,
    last_used_at = clock_timestamp()
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND memory_id = %(strategy_id)s

-- name: drop_oldest_uses
-- Deletes all uses of a strategy but the newest ones. They stay counted.
DELETE FROM state.strategy_uses
WHERE strategy_uses.tenant_id = %(tenant_id)s AND strategy_id = %(strategy_id)s
  AND use_id IN (
      SELECT older.use_id FROM state.strategy_uses AS older
      WHERE older.tenant_id = %(tenant_id)s AND older.strategy_id = %(strategy_id)s
      ORDER BY older.use_id DESC
      OFFSET %(keep)s
  )

-- name: uses
-- The latest uses of a strategy.
SELECT use_id, strategy_id, conversation, succeeded, note, at
FROM state.strategy_uses
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND strategy_id = %(strategy_id)s
ORDER BY use_id DESC
LIMIT %(limit)s

-- name: tools
-- How often each tool was called, with what success and for how long, in all conversations or in the given ones.
SELECT
    tool, count(*) AS call_count, count(*) FILTER (WHERE succeeded) AS success_count,
    avg(duration_ms)::double precision AS mean_duration_ms, max(at) AS last_used_at
FROM state.tool_invocations
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s
  AND (%(conversations)s::text[] IS NULL OR conversation = ANY (%(conversations)s))
  AND (%(since)s::timestamptz IS NULL OR at >= %(since)s)
GROUP BY tool
ORDER BY call_count DESC, tool
LIMIT %(limit)s

-- name: owners_with_tools
-- Owners who used tools lately, by name, a page at a time.
SELECT DISTINCT owner FROM state.tool_invocations
WHERE tenant_id = %(tenant_id)s AND at > now() - make_interval(hours => %(hours)s) AND owner > %(after)s
ORDER BY owner
LIMIT %(limit)s

-- name: tool_sequences
-- The latest conversations of an owner outside of branches in which tools were used and which have ended: the tools in order and whether
-- they succeeded, the outcome that somebody stated, and what the user asked first.
WITH ended AS (
    SELECT conversation
    FROM state.tool_invocations
    WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s
    GROUP BY conversation
    HAVING max(at) BETWEEN now() - make_interval(days => %(days)s) AND now() - make_interval(mins => %(quiet_minutes)s)
    ORDER BY max(at) DESC
    LIMIT %(limit)s
)
SELECT ended.conversation, conversations.channel, conversations.metadata ->> 'outcome' AS outcome,
    calls.tools, calls.succeeded, asked.content AS request
FROM ended
JOIN state.conversations ON conversations.tenant_id = %(tenant_id)s AND conversations.owner = %(owner)s
    AND conversations.conversation = ended.conversation
CROSS JOIN LATERAL (
    SELECT
        array_agg(last_calls.tool ORDER BY last_calls.at, last_calls.invocation_id) AS tools,
        array_agg(last_calls.succeeded ORDER BY last_calls.at, last_calls.invocation_id) AS succeeded
    FROM (
        SELECT tool, succeeded, at, invocation_id
        FROM state.tool_invocations
        WHERE tool_invocations.tenant_id = %(tenant_id)s AND tool_invocations.owner = %(owner)s
          AND tool_invocations.conversation = ended.conversation
        ORDER BY at DESC, invocation_id DESC
        LIMIT %(calls_max)s
    ) AS last_calls
) AS calls
LEFT JOIN LATERAL (
    SELECT left(memories.content, %(characters_max)s) AS content
    FROM state.memories
    WHERE memories.tenant_id = %(tenant_id)s AND memories.owner = %(owner)s
      AND memories.conversation = ended.conversation AND memories.role = 'user' AND memories.deleted_at IS NULL
    ORDER BY memories."position", memories.chunk_index
    LIMIT 1
) AS asked ON true
WHERE NOT EXISTS (
    SELECT FROM state.channel_branches AS forked
    WHERE forked.tenant_id = %(tenant_id)s AND forked.owner = %(owner)s AND forked.channel = conversations.channel
)
ORDER BY ended.conversation

-- name: mined
-- All mined strategies of an owner, also forgotten ones, which are not to be mined again.
SELECT strategies.memory_id AS strategy_id, strategies.tools,
    memories.deleted_at IS NULL AND memories.status = 'active' AS is_active
FROM state.strategies
JOIN state.memories ON memories.tenant_id = strategies.tenant_id AND memories.memory_id = strategies.memory_id
WHERE strategies.tenant_id = %(tenant_id)s AND strategies.owner = %(owner)s AND strategies.is_mined

-- name: hold_owner
-- Serializes the mining of one owner's patterns, so that no pattern is stored twice.
SELECT pg_advisory_xact_lock(hashtextextended('mnemic.strategies ' || %(tenant_id)s::text || ' ' || %(owner)s::text, 0))
