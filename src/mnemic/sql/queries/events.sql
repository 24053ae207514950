-- Events: assigning positions, reading, and consumers.

-- name: sequence
-- Assigns positions to committed events; returns how many.
SELECT mnemic.sequence_events(%(most)s) AS moved

-- name: bounds
-- The last position and the last dropped one; no row before the tenant's first event.
SELECT last_position, dropped_position FROM queue.event_logs
WHERE tenant_id = %(tenant_id)s

-- name: page
-- The events after a position, within a bounded number of positions; NULL filters match everything. Each row
-- carries the bounds of the log from the same snapshot; if no event matches, one row carries only the bounds.
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
-- Events between two positions, oldest first.
SELECT "position", type, owner, subject, data, at
FROM queue.events
WHERE tenant_id = %(tenant_id)s
  AND "position" > %(after)s AND "position" < %(before)s AND (%(types)s::text[] IS NULL OR type = ANY(%(types)s::text[]))
ORDER BY "position"
LIMIT %(limit)s

-- name: list_of_owner
-- The same for the events of one owner.
SELECT "position", type, owner, subject, data, at
FROM queue.events
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND "position" > %(after)s AND "position" < %(before)s
  AND (%(types)s::text[] IS NULL OR type = ANY(%(types)s::text[]))
ORDER BY "position"
LIMIT %(limit)s

-- name: newest
-- Events between two positions, newest first.
SELECT "position", type, owner, subject, data, at
FROM queue.events
WHERE tenant_id = %(tenant_id)s AND "position" > %(after)s AND "position" < %(before)s
ORDER BY "position" DESC
LIMIT %(limit)s

-- name: newest_of_types
-- The same for some types: the newest of each type by its index, so that rare ones are found among many others.
SELECT page."position", page.type, page.owner, page.subject, page.data, page.at
FROM unnest(%(types)s::text[]) AS wanted (type)
CROSS JOIN LATERAL (
    SELECT events."position", events.type, events.owner, events.subject, events.data, events.at
    FROM queue.events
    WHERE events.tenant_id = %(tenant_id)s AND events.type = wanted.type
      AND events."position" > %(after)s AND events."position" < %(before)s
    ORDER BY events."position" DESC
    LIMIT %(limit)s
) AS page
ORDER BY page."position" DESC
LIMIT %(limit)s

-- name: newest_of_owner
-- The same for the events of one owner.
SELECT "position", type, owner, subject, data, at
FROM queue.events
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND "position" > %(after)s AND "position" < %(before)s
  AND (%(types)s::text[] IS NULL OR type = ANY(%(types)s::text[]))
ORDER BY "position" DESC
LIMIT %(limit)s

-- name: get
-- One event, by its position.
SELECT "position", type, owner, subject, data, at FROM queue.events
WHERE tenant_id = %(tenant_id)s AND "position" = %(position)s

-- name: drop
-- Drops events older than some days, a bounded number; returns the number of dropped positions.
SELECT mnemic.drop_events(%(keep_days)s, %(most)s) AS dropped

-- name: make_consumer
-- Creates a consumer at a position, unless one of that name exists.
INSERT INTO queue.event_consumers (tenant_id, name, owner, types, "position")
VALUES (%(tenant_id)s, %(name)s, %(owner)s, %(types)s, %(position)s)
ON CONFLICT (tenant_id, name) DO NOTHING

-- name: take_consumer
-- Makes `reader` the session that reads under this name; returns the position at which it begins. No row if the
-- consumer follows another owner.
UPDATE queue.event_consumers
SET reader = %(reader)s, types = %(types)s, updated_at = clock_timestamp()
WHERE tenant_id = %(tenant_id)s AND name = %(name)s AND owner IS NOT DISTINCT FROM %(owner)s
RETURNING "position"

-- name: move_consumer
-- Moves a consumer on, if this reader still owns it and its position is one of those expected. Moving it to its own
-- position checks only that.
UPDATE queue.event_consumers
SET "position" = %(position)s, updated_at = clock_timestamp()
WHERE tenant_id = %(tenant_id)s AND name = %(name)s AND owner IS NOT DISTINCT FROM %(owner)s
  AND reader = %(reader)s AND "position" = ANY (%(expected_positions)s::bigint[])

-- name: place_consumer
-- Sets the position of a consumer; its current reader is replaced.
UPDATE queue.event_consumers
SET "position" = %(position)s, reader = NULL, updated_at = clock_timestamp()
WHERE tenant_id = %(tenant_id)s AND name = %(name)s AND (%(owner)s::text IS NULL OR owner = %(owner)s::text)

-- name: delete_consumer
-- Deletes a consumer.
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
