-- Working memory: values, thoughts and the active goal of an owner, a channel and a conversation ('' for none). An item
-- that has expired is never read.

-- name: hold_owner
-- Serializes writes to the working memory of one owner, so that the limits are exact.
SELECT pg_advisory_xact_lock(hashtextextended('mnemic.working ' || %(tenant_id)s::text || ' ' || %(owner)s::text, 0))

-- name: set
-- Writes an item and returns it; no row if the owner, or the conversation for items of this kind, has too many others. Deletes
-- what has expired of the owner, except an item under the same key, which is overwritten.
WITH expired AS (
    DELETE FROM state.working_items
    WHERE working_items.tenant_id = %(tenant_id)s AND owner = %(owner)s AND expires_at <= now()
      AND (channel, conversation, kind, key) <> (%(channel)s, %(conversation)s, %(kind)s, %(key)s)
), others AS (
    SELECT
        count(*) AS of_owner,
        count(*) FILTER (
            WHERE channel = %(channel)s AND conversation = %(conversation)s AND kind = %(kind)s
        ) AS of_kind
    FROM state.working_items
    WHERE working_items.tenant_id = %(tenant_id)s AND owner = %(owner)s AND expires_at > now()
      AND (channel, conversation, kind, key) <> (%(channel)s, %(conversation)s, %(kind)s, %(key)s)
)
INSERT INTO state.working_items (tenant_id, owner, channel, conversation, kind, key, value, expires_at)
SELECT %(tenant_id)s, %(owner)s, %(channel)s, %(conversation)s, %(kind)s, %(key)s, %(value)s,
    now() + make_interval(secs => %(expires_in_s)s)
FROM others
WHERE of_owner < %(owner_max)s AND of_kind < %(kind_max)s
ON CONFLICT (tenant_id, owner, channel, conversation, kind, key) DO UPDATE
SET value = excluded.value, created_at = excluded.created_at, expires_at = excluded.expires_at
RETURNING channel, conversation, kind, key, value, created_at, expires_at

-- name: drop_oldest_thoughts
-- Deletes all but the newest thoughts of a conversation.
DELETE FROM state.working_items
WHERE working_items.tenant_id = %(tenant_id)s AND owner = %(owner)s AND channel = %(channel)s
  AND conversation = %(conversation)s AND kind = 'thought'
  AND key IN (
      SELECT key FROM state.working_items AS older
      WHERE older.tenant_id = %(tenant_id)s AND older.owner = %(owner)s AND older.channel = %(channel)s
        AND older.conversation = %(conversation)s AND older.kind = 'thought'
      ORDER BY key DESC
      OFFSET %(keep)s
  )

-- name: list
-- Items of a conversation that have not expired: values by key, thoughts by age (their keys are ids, which ascend).
SELECT channel, conversation, kind, key, value, created_at, expires_at
FROM state.working_items
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND channel = %(channel)s AND conversation = %(conversation)s
  AND (%(kind)s::text IS NULL OR kind = %(kind)s) AND (%(key)s::text IS NULL OR key = %(key)s) AND expires_at > now()
ORDER BY kind, key

-- name: delete
-- Deletes one item; one that has expired counts as absent.
WITH deleted AS (
    DELETE FROM state.working_items
    WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND channel = %(channel)s AND conversation = %(conversation)s
      AND kind = %(kind)s AND key = %(key)s
    RETURNING expires_at
)
SELECT count(*) AS deleted_count FROM deleted WHERE expires_at > now()

-- name: clear
-- Deletes all items of a conversation, or of the owner; returns how many of them had not expired.
WITH deleted AS (
    DELETE FROM state.working_items
    WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s
      AND (%(everywhere)s OR (channel = %(channel)s AND conversation = %(conversation)s))
    RETURNING expires_at
)
SELECT count(*) AS deleted_count FROM deleted WHERE expires_at > now()

-- name: prune
-- Deletes some items of the tenant that have expired.
DELETE FROM state.working_items
WHERE working_items.tenant_id = %(tenant_id)s
  AND ctid = ANY (ARRAY(
      SELECT expired.ctid FROM state.working_items AS expired
      WHERE expired.tenant_id = %(tenant_id)s AND expired.expires_at <= now()
      LIMIT %(limit)s
  ))
