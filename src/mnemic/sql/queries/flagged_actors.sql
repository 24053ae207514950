-- Flagged actors: actors that an owner should not trust. A flag is cleared, never removed.

-- name: flag
-- Adds a flag and returns it.
INSERT INTO state.flagged_actors (tenant_id, owner, process, actor, reason, severity, evidence, flagged_at)
VALUES (%(tenant_id)s, %(owner)s, %(process)s, %(actor)s, %(reason)s, %(severity)s, %(evidence)s,
    coalesce(%(at)s::timestamptz, now()))
RETURNING flag_id, owner, process, actor, reason, severity, evidence, flagged_at, cleared_at, clearing_reason

-- name: clear
-- Clears every open flag of an actor.
UPDATE state.flagged_actors
SET cleared_at = now(), clearing_reason = %(reason)s
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND actor = %(actor)s AND cleared_at IS NULL

-- name: is_flagged
-- One row: whether an actor has an open flag.
SELECT EXISTS (
    SELECT FROM state.flagged_actors
    WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND actor = %(actor)s AND cleared_at IS NULL
) AS is_flagged

-- name: cursor
-- The pagination cursor of a row: its sort key.
SELECT flagged_at AS before_at, flag_id AS before_id
FROM state.flagged_actors
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND flag_id = %(before)s

-- name: list
-- Flags of an owner, newest first, starting after the cursor (before_at, before_id).
SELECT flag_id, owner, process, actor, reason, severity, evidence, flagged_at, cleared_at, clearing_reason
FROM state.flagged_actors
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s
  AND (flagged_at, flag_id) < (coalesce(%(before_at)s::timestamptz, 'infinity'), %(before_id)s::uuid)
  AND (%(actor)s::text IS NULL OR actor = %(actor)s)
  AND (cleared_at IS NULL OR %(include_cleared)s)
ORDER BY flagged_at DESC, flag_id DESC
LIMIT %(limit)s
