-- The deduplication backlog (docs/adr/0018-compared-later.md).

-- name: next_owner
-- An owner with memories in the backlog; no row if it is empty.
SELECT owner FROM queue.deduplication_backlog WHERE tenant_id = %(tenant_id)s ORDER BY owner LIMIT 1

-- name: pending
-- The next memories of an owner in the backlog, with the neighbours of those that can be statements.
SELECT memory_id, near_ids, cosines, mean, deviation, compared_count
FROM mnemic.pending_neighbours(
    %(tenant_id)s, %(owner)s, %(statement_most)s, %(before_most)s, %(after_most)s, %(near_most)s, %(most)s
)

-- name: compare
-- Deduplicates these memories of an owner and removes them from the backlog.
SELECT mnemic.find_near_duplicates(
    %(tenant_id)s, %(owner)s, %(ids)s::uuid[], %(alike_from)s, %(before_most)s, %(after_most)s
)

-- name: mark
-- Adds memories to the backlog that got their vector only now.
INSERT INTO queue.deduplication_backlog (tenant_id, owner, memory_id)
SELECT %(tenant_id)s, owner, memory_id
FROM unnest(%(owners)s::text[], %(ids)s::uuid[]) AS given (owner, memory_id)
ORDER BY owner, memory_id
ON CONFLICT DO NOTHING
