-- Memories that wait to be compared with others of their owner (docs/adr/0018-compared-later.md).

-- name: next_owner
-- An owner of whom memories wait; no row if none waits.
SELECT owner FROM queue.deduplication_backlog ORDER BY owner LIMIT 1

-- name: compare
-- Compares some of an owner's memories that wait, and links those that look alike; returns how many were compared.
SELECT mnemic.find_near_duplicates(
    %(tenant_id)s, %(owner)s, %(alike_from)s, %(before_most)s, %(after_most)s, %(most)s
) AS compared_count

-- name: mark
-- Lets memories wait that have got their vector only now.
INSERT INTO queue.deduplication_backlog (tenant_id, owner, memory_id)
SELECT %(tenant_id)s, owner, memory_id
FROM unnest(%(owners)s::text[], %(ids)s::uuid[]) AS given (owner, memory_id)
ORDER BY owner, memory_id
ON CONFLICT DO NOTHING
