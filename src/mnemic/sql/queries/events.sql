-- Events: giving them positions, reading them, and the places of those who follow them.

-- name: sequence
-- Gives committed events their positions; returns how many those were.
SELECT mnemic.sequence_events(%(most)s) AS moved

-- name: bounds
-- The newest position and the newest dropped one; no row before the tenant's first event.
SELECT last_position, dropped_position FROM queue.event_logs
WHERE tenant_id = %(tenant_id)s

-- name: page
-- The events behind a position, within a bounded number of positions; NULL filters let everything through. Each
-- row carries the bounds of the log, of the same moment; where no event fits, one row carries the bounds alone.
SELECT
    log.last_position, log.dropped_position,
    page."position", page.type, page.owner, page.subject, page.data, page.at
FROM queue.event_logs AS log
LEFT JOIN LATERAL (
    SELECT events."position", events.type, events.owner, events.subject, events.data, events.at
    FROM queue.events
    WHERE events.tenant_id = %(tenant_id)s AND events."position" > %(after)s AND events."position" <= %(until)s
      AND (%(types)s::text[] IS NULL OR events.type = ANY(%(types)s::text[]))
      AND (%(owner)s::text IS NULL OR events.owner = %(owner)s::text)
    ORDER BY events."position"
    LIMIT %(limit)s
) AS page ON true
WHERE log.tenant_id = %(tenant_id)s
ORDER BY page."position"

-- name: list
-- Events behind a position.
SELECT "position", type, owner, subject, data, at
FROM queue.events
WHERE tenant_id = %(tenant_id)s
  AND "position" > %(after)s AND (%(types)s::text[] IS NULL OR type = ANY(%(types)s::text[]))
ORDER BY "position"
LIMIT %(limit)s

-- name: list_of_owner
-- The same for the events of one owner.
SELECT "position", type, owner, subject, data, at
FROM queue.events
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND "position" > %(after)s
  AND (%(types)s::text[] IS NULL OR type = ANY(%(types)s::text[]))
ORDER BY "position"
LIMIT %(limit)s

-- name: get
-- One event, by its position.
SELECT "position", type, owner, subject, data, at FROM queue.events
WHERE tenant_id = %(tenant_id)s AND "position" = %(position)s

-- name: drop
-- Drops events older than some days, a bounded number; returns how many positions went.
SELECT mnemic.drop_events(%(keep_days)s, %(most)s) AS dropped

-- name: make_consumer
-- Makes a consumer at a position, unless there is one of that name.
INSERT INTO queue.event_consumers (tenant_id, name, owner, types, "position")
VALUES (%(tenant_id)s, %(name)s, %(owner)s, %(types)s, %(position)s)
ON CONFLICT (tenant_id, name) DO NOTHING

-- name: take_consumer
-- Makes `reader` the one who reads under this name, from here on; returns where it begins. No row if the
-- consumer follows the events of another owner.
UPDATE queue.event_consumers
SET reader = %(reader)s, types = %(types)s, updated_at = clock_timestamp()
WHERE tenant_id = %(tenant_id)s AND name = %(name)s AND owner IS NOT DISTINCT FROM %(owner)s
RETURNING "position"

-- name: move_consumer
-- Moves a consumer on, if this reader is still the one, and it stands where the reader believes. To where it
-- stands already it is moved by whoever wants to know whether it still has it.
UPDATE queue.event_consumers
SET "position" = %(position)s, updated_at = clock_timestamp()
WHERE tenant_id = %(tenant_id)s AND name = %(name)s AND owner IS NOT DISTINCT FROM %(owner)s
  AND reader = %(reader)s AND "position" = ANY (%(expected_positions)s::bigint[])

-- name: place_consumer
-- Puts a consumer anywhere; whoever reads under its name finds itself replaced.
UPDATE queue.event_consumers
SET "position" = %(position)s, reader = NULL, updated_at = clock_timestamp()
WHERE tenant_id = %(tenant_id)s AND name = %(name)s AND (%(owner)s::text IS NULL OR owner = %(owner)s::text)

-- name: delete_consumer
-- Forgets a consumer.
DELETE FROM queue.event_consumers
WHERE tenant_id = %(tenant_id)s AND name = %(name)s AND (%(owner)s::text IS NULL OR owner = %(owner)s::text)

-- name: list_consumers
-- The consumers of a tenant, or those that follow one owner, by name, a page at a time.
SELECT name, owner, types, "position",
    greatest(
        coalesce((SELECT last_position FROM queue.event_logs WHERE tenant_id = %(tenant_id)s), 0) - "position", 0
    ) AS behind,
    created_at, updated_at
FROM queue.event_consumers
WHERE event_consumers.tenant_id = %(tenant_id)s
  AND name > %(after)s AND (%(owner)s::text IS NULL OR owner = %(owner)s::text)
ORDER BY name
LIMIT %(limit)s
