-- Groups of owners, which grants can be given to. The group `everyone` has no row: all owners are in it.

-- name: hold
-- Serializes changes of one group and grants to it, so that limits are exact and no grant goes to a deleted group.
SELECT pg_advisory_xact_lock(hashtextextended(%(tenant_id)s::text || %(group)s::text, 2))

-- name: hold_member
-- Serializes changes of the groups of one owner, so that their limit is exact. Held after `hold`, to avoid deadlocks.
SELECT pg_advisory_xact_lock(hashtextextended(%(tenant_id)s::text || %(member)s::text, 3))

-- name: hold_all
-- Serializes the creation of groups, so that their limit is exact.
SELECT pg_advisory_xact_lock(hashtextextended(%(tenant_id)s::text, 4))

-- name: create
-- Adds a group; no row if there is one of this name, or the tenant has `groups_max` already.
INSERT INTO state.groups (tenant_id, name)
SELECT %(tenant_id)s, %(group)s
WHERE %(groups_max)s > (SELECT count(*) FROM state.groups WHERE groups.tenant_id = %(tenant_id)s)
ON CONFLICT DO NOTHING
RETURNING name

-- name: get
-- One group with the number of its members.
SELECT name, created_at,
    (
        SELECT count(*) FROM state.group_members
        WHERE group_members.tenant_id = groups.tenant_id AND group_name = groups.name
    ) AS member_count
FROM state.groups
WHERE tenant_id = %(tenant_id)s AND name = %(group)s

-- name: list
-- Groups by name, a page at a time.
SELECT name, created_at,
    (
        SELECT count(*) FROM state.group_members
        WHERE group_members.tenant_id = groups.tenant_id AND group_name = groups.name
    ) AS member_count
FROM state.groups
WHERE tenant_id = %(tenant_id)s AND name > %(after)s
ORDER BY name
LIMIT %(limit)s

-- name: delete
-- Deletes a group and its list of members.
DELETE FROM state.groups WHERE tenant_id = %(tenant_id)s AND name = %(group)s

-- name: counts
-- What the limits count: the members of a group, and the groups of an owner; and whether the owner is a member.
SELECT
    (
        SELECT count(*) FROM state.group_members WHERE tenant_id = %(tenant_id)s AND group_name = %(group)s
    ) AS member_count,
    (SELECT count(*) FROM state.group_members WHERE tenant_id = %(tenant_id)s AND owner = %(member)s) AS group_count,
    EXISTS (
        SELECT FROM state.group_members
        WHERE tenant_id = %(tenant_id)s AND group_name = %(group)s AND owner = %(member)s
    ) AS is_member

-- name: add
-- Adds an owner to a group.
INSERT INTO state.group_members (tenant_id, group_name, owner) VALUES (%(tenant_id)s, %(group)s, %(member)s)

-- name: remove
-- Removes an owner from a group.
DELETE FROM state.group_members WHERE tenant_id = %(tenant_id)s AND group_name = %(group)s AND owner = %(member)s

-- name: members
-- The members of a group by name, a page at a time.
SELECT owner FROM state.group_members
WHERE tenant_id = %(tenant_id)s AND group_name = %(group)s AND owner > %(after)s
ORDER BY owner
LIMIT %(limit)s
