-- Goals: memories of the category `prospective`, with a status, a priority, a deadline, a parent and blockers.

-- name: hold_owner
-- Serializes changes of the goals of one owner, so that limits are exact and two changes cannot close a cycle.
SELECT pg_advisory_xact_lock(hashtextextended('mnemic.goals ' || %(tenant_id)s::text || ' ' || %(owner)s::text, 0))

-- name: count_open
-- How many goals of the owner are open, counted up to a limit.
SELECT count(*) AS open_count
FROM (
    SELECT FROM state.goals
    WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND status IN ('active', 'blocked')
    LIMIT %(limit)s
) AS counted

-- name: add
-- Makes a memory a goal.
INSERT INTO state.goals (tenant_id, memory_id, owner, priority, deadline, parent_id)
VALUES (%(tenant_id)s, %(goal_id)s, %(owner)s, %(priority)s, %(deadline)s, %(parent_id)s)

-- name: get
-- One goal that is not forgotten, superseded or merged.
SELECT * FROM state.goal_records
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND goal_id = %(goal_id)s

-- name: stored
-- What `update` writes, as it is stored: the parent may be forgotten, the status is the one that was set.
SELECT status, priority, deadline, result, parent_id FROM state.goals
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND memory_id = %(goal_id)s

-- name: list
-- Goals in the order in which they are due: by deadline, then the most urgent, then the oldest; a page at a time.
-- `stored_statuses` are those that `statuses` may be computed from, which the index goals_open finds. A branch has the goals
-- that its parents had at the fork, unless it hides them. Without channels,
-- goals outside of branches.
WITH past AS MATERIALIZED (
    SELECT viewed.branch, parents.channel, parents.known_at
    FROM mnemic.branch_view(%(tenant_id)s, %(owner)s, %(channels)s) AS viewed,
        unnest(viewed.past_channels, viewed.past_times) AS parents (channel, known_at)
)
SELECT * FROM state.goal_records
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s
  AND stored_status = ANY (%(stored_statuses)s) AND status = ANY (%(statuses)s)
  AND (
      CASE WHEN %(channels)s::text[] IS NOT NULL THEN channel = ANY (%(channels)s)
          ELSE mnemic.branch_of(%(tenant_id)s, %(owner)s, channel) IS NULL END
      OR EXISTS (
          SELECT FROM past
          WHERE past.channel = goal_records.channel AND goal_records.created_at <= past.known_at
            AND NOT EXISTS (
                SELECT FROM state.branch_tombstones AS hidden
                WHERE hidden.tenant_id = %(tenant_id)s AND hidden.owner = %(owner)s
                  AND hidden.channel = past.branch AND hidden.memory_id = goal_records.goal_id
                  AND hidden.shown_at IS NULL
            )
      )
  )
  AND (%(due_before)s::timestamptz IS NULL OR deadline < %(due_before)s)
  AND (%(parent_id)s::uuid IS NULL OR parent_id = %(parent_id)s)
  AND (
      %(after_id)s::uuid IS NULL
      OR (coalesce(deadline, 'infinity'), -priority, goal_id)
          > (coalesce(%(after_deadline)s::timestamptz, 'infinity'), -%(after_priority)s::int, %(after_id)s::uuid)
  )
ORDER BY coalesce(deadline, 'infinity'), -priority, goal_id
LIMIT %(limit)s

-- name: update
-- Writes status, priority, deadline, result and parent of a goal.
UPDATE state.goals
SET status = %(status)s, priority = %(priority)s, deadline = %(deadline)s, result = %(result)s,
    parent_id = %(parent_id)s, updated_at = clock_timestamp()
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND memory_id = %(goal_id)s

-- name: ancestors
-- How many goals stand above a goal, itself included, and whether a given goal is among them.
WITH RECURSIVE above AS (
    SELECT memory_id, parent_id, 1 AS depth
    FROM state.goals
    WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND memory_id = %(goal_id)s
    UNION ALL
    SELECT goals.memory_id, goals.parent_id, above.depth + 1
    FROM above JOIN state.goals ON goals.memory_id = above.parent_id
    WHERE goals.tenant_id = %(tenant_id)s AND goals.owner = %(owner)s AND above.depth < %(depth_max)s
)
SELECT count(*) AS depth, coalesce(bool_or(memory_id = %(searched_id)s::uuid), false) AS is_above FROM above

-- name: height
-- How many levels of goals a goal has, itself included.
WITH RECURSIVE below AS (
    SELECT memory_id, 1 AS depth
    FROM state.goals
    WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND memory_id = %(goal_id)s
    UNION ALL
    SELECT goals.memory_id, below.depth + 1
    FROM below JOIN state.goals ON goals.parent_id = below.memory_id
    WHERE goals.tenant_id = %(tenant_id)s AND goals.owner = %(owner)s AND below.depth < %(depth_max)s
)
SELECT coalesce(max(depth), 0) AS height FROM below

-- name: waits_for
-- Whether a goal waits for another one, directly or through others.
WITH RECURSIVE waited_for AS (
    SELECT blocked_by FROM state.goal_blockers
    WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND goal_id = %(goal_id)s
    UNION
    SELECT goal_blockers.blocked_by
    FROM waited_for JOIN state.goal_blockers ON goal_blockers.goal_id = waited_for.blocked_by
    WHERE goal_blockers.tenant_id = %(tenant_id)s AND goal_blockers.owner = %(owner)s
)
SELECT EXISTS (SELECT FROM waited_for WHERE blocked_by = %(searched_id)s) AS is_waiting

-- name: add_blocker
-- Makes a goal wait for another one; does nothing if it does already.
INSERT INTO state.goal_blockers (tenant_id, owner, goal_id, blocked_by)
VALUES (%(tenant_id)s, %(owner)s, %(goal_id)s, %(blocker_id)s)
ON CONFLICT DO NOTHING

-- name: remove_blocker
-- Ends that a goal waits for another one.
DELETE FROM state.goal_blockers
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND goal_id = %(goal_id)s AND blocked_by = %(blocker_id)s

-- name: touch
-- Records that a goal changed; a goal that was blocked by hand is blocked by its blockers from now on.
UPDATE state.goals
SET status = CASE WHEN status = 'blocked' THEN 'active' ELSE status END, updated_at = clock_timestamp()
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND memory_id = %(goal_id)s
