-- Feedback on memories. An owner gives it on its own memories only.

-- name: give
-- Stores the verdict of a conversation on a memory; see mnemic.give_feedback.
SELECT mnemic.give_feedback(
    %(tenant_id)s, %(owner)s, %(memory_id)s, %(kind)s, %(conversation)s, %(note)s, %(process)s, %(most)s
) AS is_given

-- name: list
-- The feedback of an owner, or on one memory, newest first, a page at a time.
SELECT feedback_id, memory_id, kind, conversation, note, process, at
FROM state.memory_feedback
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s
  AND (%(memory_id)s::uuid IS NULL OR memory_id = %(memory_id)s)
  AND feedback_id < coalesce(%(before)s::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
ORDER BY feedback_id DESC
LIMIT %(limit)s
