-- Channels and branches: channels that were forked from another one (record/branches.py). An owner sees only its own.

-- name: list
-- The channels of an owner by name, a page at a time: those that memories are in, and branches.
SELECT
    names.channel, coalesce(counted.memory_count, 0) AS memory_count, branches.parent, branches.state, branches.reason,
    branches.forked_at, branches.merged_at, branches.changeset_id
FROM (
    SELECT channel FROM state.memories
    WHERE memories.tenant_id = %(tenant_id)s AND memories.owner = %(owner)s
    UNION
    SELECT channel FROM state.channel_branches
    WHERE channel_branches.tenant_id = %(tenant_id)s AND channel_branches.owner = %(owner)s
) AS names
LEFT JOIN (
    SELECT channel, count(*) AS memory_count FROM state.memories
    WHERE memories.tenant_id = %(tenant_id)s AND memories.owner = %(owner)s AND deleted_at IS NULL
    GROUP BY channel
) AS counted USING (channel)
LEFT JOIN state.branches
    ON branches.tenant_id = %(tenant_id)s AND branches.owner = %(owner)s AND branches.channel = names.channel
WHERE names.channel > coalesce(%(after)s, '') AND (%(channel)s::text IS NULL OR names.channel = %(channel)s)
ORDER BY names.channel
LIMIT %(limit)s

-- name: hold_owner
-- Lets one call at a time fork, merge or drop branches of an owner.
SELECT pg_advisory_xact_lock(hashtextextended('mnemic.branches ' || mnemic.current_tenant() || ' ' || %(owner)s::text, 0))

-- name: fork
-- Creates a branch.
INSERT INTO state.channel_branches (tenant_id, owner, channel, parent, reason, process)
VALUES (%(tenant_id)s, %(owner)s, %(channel)s, %(parent)s, %(reason)s, %(process)s)

-- name: fork_facts
-- What decides whether a channel can be forked: whether its name is in use, whether the parent exists, how many branches
-- are above the new one and how many the owner has.
SELECT
    EXISTS (
        SELECT FROM state.channel_branches
        WHERE channel_branches.tenant_id = %(tenant_id)s AND owner = %(owner)s AND channel = %(channel)s
    ) OR EXISTS (
        SELECT FROM state.memories
        WHERE memories.tenant_id = %(tenant_id)s AND owner = %(owner)s AND channel = %(channel)s
    ) OR EXISTS (
        SELECT FROM state.conversations
        WHERE conversations.tenant_id = %(tenant_id)s AND owner = %(owner)s AND channel = %(channel)s
    ) AS is_taken,
    %(parent)s = '_global' OR parent.channel IS NOT NULL OR EXISTS (
        SELECT FROM state.memories
        WHERE memories.tenant_id = %(tenant_id)s AND owner = %(owner)s AND channel = %(parent)s
    ) AS has_parent,
    coalesce(parent.state = 'merged', false) AS is_parent_merged,
    coalesce(cardinality(above.past_channels), 0) AS parent_depth,
    (
        SELECT count(*) FROM state.channel_branches
        WHERE channel_branches.tenant_id = %(tenant_id)s AND owner = %(owner)s
    ) AS branch_count
FROM (VALUES (1)) AS always (one)
LEFT JOIN state.branches AS parent
    ON parent.tenant_id = %(tenant_id)s AND parent.owner = %(owner)s AND parent.channel = %(parent)s
LEFT JOIN LATERAL mnemic.branch_view(%(tenant_id)s, %(owner)s, ARRAY[%(parent)s::text]) AS above ON true

-- name: hold
-- One branch, locked until the transaction ends: waits for calls that write to it, and blocks new ones.
SELECT channel FROM state.channel_branches
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND channel = %(channel)s
FOR UPDATE

-- name: get
-- One branch, with the names of open branches that were forked from it, and the parent if that is a branch itself.
SELECT
    branches.channel, branches.parent, branches.state, branches.reason, branches.forked_at, branches.merged_at,
    branches.changeset_id, mnemic.branch_of(%(tenant_id)s, %(owner)s, branches.parent) AS parent_branch,
    ARRAY(
        SELECT child.channel FROM state.branches AS child
        WHERE child.tenant_id = %(tenant_id)s AND child.owner = %(owner)s AND child.parent = branches.channel
          AND child.state = 'open'
        ORDER BY child.channel
    ) AS children
FROM state.branches
WHERE branches.tenant_id = %(tenant_id)s AND branches.owner = %(owner)s AND branches.channel = %(channel)s

-- name: drop
-- Deletes a branch and everything in it; one row per table with the number of deleted rows.
SELECT table_name, row_count FROM mnemic.drop_branch(%(owner)s, %(channel)s)

-- name: read
-- A memory as an open branch reads it; no row if the channel is no open branch. `memory_id` is NULL if the branch does not
-- read the memory. `is_own` says that it belongs to the branch.
SELECT
    coalesce(seen.branch = (viewed.filter).branch, false) AS is_own,
    mnemic.is_hidden(%(tenant_id)s, %(owner)s, %(memory_id)s, viewed.filter, NULL) AS is_hidden, seen.*
FROM (SELECT mnemic.branch_filter(%(tenant_id)s, %(owner)s, %(channel)s) AS filter OFFSET 0) AS viewed
LEFT JOIN state.memory_history AS seen
    ON seen.tenant_id = %(tenant_id)s AND seen.owner = %(owner)s AND seen.memory_id = %(memory_id)s
    AND (seen.channel = (viewed.filter).branch OR seen.channel = ANY ((viewed.filter).past_channels))
    AND CASE WHEN seen.known_until IS NULL
        THEN coalesce(seen.recorded_at <= mnemic.known_at(viewed.filter, seen.channel, NULL), true)
        ELSE seen.recorded_at <= mnemic.known_at(viewed.filter, seen.channel, NULL)
          AND seen.known_until > mnemic.known_at(viewed.filter, seen.channel, NULL)
    END
WHERE (viewed.filter).branch IS NOT NULL

-- name: hide
-- Hides a memory in a branch, with the other chunks of its text, unless it is hidden there.
INSERT INTO state.branch_tombstones (tenant_id, owner, channel, memory_id, replaced_by, reason)
SELECT %(tenant_id)s, %(owner)s, %(channel)s, memories.memory_id, %(replaced_by)s, %(reason)s
FROM state.memories
WHERE memories.tenant_id = %(tenant_id)s AND memories.owner = %(owner)s
  AND (memories.memory_id = %(memory_id)s OR memories.whole_id = %(whole_id)s)
  AND NOT EXISTS (
      SELECT FROM state.hidden_memories AS hidden
      WHERE hidden.tenant_id = %(tenant_id)s AND hidden.owner = %(owner)s AND hidden.channel = %(channel)s
        AND hidden.memory_id = memories.memory_id AND hidden.shown_at IS NULL
  )

-- name: show
-- Ends the hiding of a memory in a branch, and of the other chunks of its text.
UPDATE state.branch_tombstones AS hidden
SET shown_at = greatest(clock_timestamp(), hidden.hidden_at + interval '1 microsecond')
FROM state.memories
WHERE hidden.tenant_id = %(tenant_id)s AND hidden.owner = %(owner)s AND hidden.channel = %(channel)s AND hidden.shown_at IS NULL
  AND memories.tenant_id = %(tenant_id)s AND memories.memory_id = hidden.memory_id
  AND (memories.memory_id = %(memory_id)s OR memories.whole_id = %(whole_id)s)

-- name: hold_for_writing
-- Keeps an open branch open until the transaction ends; see mnemic.hold_branch.
SELECT mnemic.hold_branch(%(tenant_id)s, %(owner)s, %(channel)s) AS channel

-- name: own
-- The memories of a branch, oldest first.
SELECT memory_id, content, status, deleted_at, valid_from FROM state.memories
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND branch = %(channel)s
ORDER BY memory_id
LIMIT %(limit)s

-- name: hidden
-- The memories that a branch hides now, oldest first: where the branch read them, and what happened to them outside since the
-- fork. `current_id` is the memory that superseded it there, else the memory itself.
SELECT
    hidden.memory_id, hidden.replaced_by, hidden.hidden_at, hidden.reason, seen.channel AS seen_in,
    latest.memory_id <> hidden.memory_id OR (
        latest.channel, latest.content, latest.category, latest.tags, latest.metadata, latest.status, latest.deleted_at,
        latest.valid_from, latest.valid_to, latest.expires_at
    ) IS DISTINCT FROM (
        seen.channel, seen.content, seen.category, seen.tags, seen.metadata, seen.status, seen.deleted_at,
        seen.valid_from, seen.valid_to, seen.expires_at
    ) AS is_changed,
    latest.memory_id AS current_id, latest.content, latest.status, latest.deleted_at, latest.valid_from
FROM (SELECT mnemic.branch_filter(%(tenant_id)s, %(owner)s, %(channel)s) AS filter OFFSET 0) AS viewed
JOIN state.hidden_memories AS hidden
    ON hidden.tenant_id = %(tenant_id)s AND hidden.owner = %(owner)s AND hidden.channel = %(channel)s
    AND hidden.shown_at IS NULL
CROSS JOIN LATERAL (
    SELECT * FROM state.memory_history AS history
    WHERE history.tenant_id = %(tenant_id)s AND history.memory_id = hidden.memory_id
      AND history.recorded_at <= mnemic.known_at(viewed.filter, history.channel, NULL)
      AND coalesce(history.known_until > mnemic.known_at(viewed.filter, history.channel, NULL), history.known_until IS NULL)
    LIMIT 1
) AS seen
CROSS JOIN LATERAL (
    WITH RECURSIVE successor (memory_id, superseded_by, depth) AS (
        SELECT memories.memory_id, memories.superseded_by, 0 FROM state.memories
        WHERE memories.tenant_id = %(tenant_id)s AND memories.memory_id = hidden.memory_id
        UNION ALL
        SELECT memories.memory_id, memories.superseded_by, successor.depth + 1
        FROM successor
        JOIN state.memories ON memories.tenant_id = %(tenant_id)s AND memories.memory_id = successor.superseded_by
        WHERE successor.depth < %(successors_max)s
    )
    SELECT memories.*
    FROM successor
    JOIN state.memories ON memories.tenant_id = %(tenant_id)s AND memories.memory_id = successor.memory_id
    ORDER BY successor.depth DESC
    LIMIT 1
) AS latest
ORDER BY hidden.memory_id
LIMIT %(limit)s

-- name: duplicates
-- Memories of a branch whose text or external id is stored where the branch would be merged into.
SELECT own.memory_id, own.content, other.memory_id AS other_id, other.content AS other_content
FROM state.memories AS own
CROSS JOIN LATERAL (
    SELECT memories.memory_id, memories.content FROM state.memories
    WHERE memories.tenant_id = %(tenant_id)s AND memories.content_hash = own.content_hash
      AND (memories.owner = %(owner)s) IS TRUE AND memories.status = 'active' AND memories.deleted_at IS NULL
      AND coalesce(memories.chunk_index, 0) = 0 AND (memories.branch IS NOT DISTINCT FROM %(parent_branch)s) IS TRUE
      AND own.status = 'active' AND own.deleted_at IS NULL
    UNION
    SELECT memories.memory_id, memories.content FROM state.memories
    WHERE memories.tenant_id = %(tenant_id)s AND memories.external_id = own.external_id
      AND (memories.owner = %(owner)s) IS TRUE AND coalesce(memories.chunk_index, 0) = 0
      AND (memories.branch IS NOT DISTINCT FROM %(parent_branch)s) IS TRUE
) AS other
WHERE own.tenant_id = %(tenant_id)s AND own.owner = %(owner)s AND own.branch = %(channel)s
  AND coalesce(own.chunk_index, 0) = 0
ORDER BY own.memory_id, other.memory_id

-- name: values
-- Memories of a branch and of its parent that give different values of the same subject and attribute, as comparing them
-- found or as extraction understood them; those of the parent were stored or changed since the fork.
SELECT DISTINCT own.memory_id, own.content, other.memory_id AS other_id, other.content AS other_content, other.valid_from
FROM state.memories AS own
CROSS JOIN LATERAL (
    SELECT newer_id AS memory_id FROM state.outdated_memories
    WHERE tenant_id = %(tenant_id)s AND older_id = own.memory_id AND decision <> 'current' AND certainty >= %(certainty_min)s
    UNION
    SELECT older_id FROM state.outdated_memories
    WHERE tenant_id = %(tenant_id)s AND newer_id = own.memory_id AND decision <> 'current' AND certainty >= %(certainty_min)s
    UNION
    SELECT theirs.memory_id
    FROM state.statements AS ours
    JOIN state.statements AS theirs
        ON theirs.tenant_id = %(tenant_id)s AND theirs.owner = %(owner)s AND theirs.channel = %(parent)s
        AND theirs.subject_key = ours.subject_key AND theirs.attribute = ours.attribute
        AND theirs.value_key <> ours.value_key AND theirs.is_single_valued AND theirs.tense = ours.tense
    WHERE ours.tenant_id = %(tenant_id)s AND ours.memory_id = own.memory_id
) AS pair
JOIN state.memories AS other
    ON other.tenant_id = %(tenant_id)s AND other.owner = %(owner)s AND other.memory_id = pair.memory_id
WHERE own.tenant_id = %(tenant_id)s AND own.owner = %(owner)s AND own.branch = %(channel)s
  AND own.status = 'active' AND own.deleted_at IS NULL
  AND other.channel = %(parent)s AND other.status = 'active' AND other.deleted_at IS NULL
  AND NOT EXISTS (
      SELECT FROM state.memory_history AS past
      WHERE past.tenant_id = %(tenant_id)s AND past.memory_id = other.memory_id AND past.content = other.content
        AND past.recorded_at <= %(forked_at)s AND coalesce(past.known_until > %(forked_at)s, true)
  )
ORDER BY own.memory_id, other.memory_id

-- name: record_merge
-- Records that a branch was merged.
UPDATE state.channel_branches
SET merged_at = clock_timestamp(), changeset_id = %(changeset_id)s
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND channel = %(channel)s

-- name: pass_on
-- Hides memories of channels above the parent in the parent, which is a branch itself, unless they are hidden there.
INSERT INTO state.branch_tombstones (tenant_id, owner, channel, memory_id, replaced_by, reason, changeset_id)
SELECT %(tenant_id)s, %(owner)s, %(parent)s, hidden.memory_id, hidden.replaced_by, hidden.reason, %(changeset_id)s
FROM state.hidden_memories AS hidden
WHERE hidden.tenant_id = %(tenant_id)s AND hidden.owner = %(owner)s AND hidden.channel = %(channel)s
  AND hidden.shown_at IS NULL AND hidden.memory_id = ANY(%(ids)s::uuid[])
  AND NOT EXISTS (
      SELECT FROM state.hidden_memories AS known
      WHERE known.tenant_id = %(tenant_id)s AND known.owner = %(owner)s AND known.channel = %(parent)s
        AND known.memory_id = hidden.memory_id AND known.shown_at IS NULL
  )
