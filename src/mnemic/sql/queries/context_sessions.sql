-- Context paging: what users see of sessions, their objects and their history.

-- name: list
-- Sessions of an owner in numbers, newest first, or the one with this name.
SELECT
    sessions.session_id, sessions.session, sessions.owner, sessions.channel, sessions.model, sessions.zone,
    sessions.tokens, sessions.full_tokens, sessions.epoch, sessions.call_count, objects.object_count,
    objects.pinned_count, faults.fault_count, sessions.saved_usd, sessions.created_at, sessions.used_at,
    sessions.closed_at
FROM state.context_sessions AS sessions
CROSS JOIN LATERAL (
    SELECT count(*)::int AS object_count, count(*) FILTER (WHERE found.is_pinned)::int AS pinned_count
    FROM state.context_objects AS found
    WHERE found.tenant_id = %(tenant_id)s AND found.session_id = sessions.session_id
) AS objects
CROSS JOIN LATERAL (
    SELECT count(*)::int AS fault_count
    FROM state.context_faults AS found
    WHERE found.tenant_id = %(tenant_id)s AND found.session_id = sessions.session_id
) AS faults
WHERE sessions.tenant_id = %(tenant_id)s AND sessions.owner = %(owner)s
  AND (%(session)s::text IS NULL OR sessions.session = %(session)s)
  AND (%(is_open)s::boolean IS NULL OR (sessions.closed_at IS NULL) = %(is_open)s)
  AND (%(before)s::uuid IS NULL OR sessions.session_id < %(before)s)
ORDER BY sessions.session_id DESC
LIMIT %(limit)s

-- name: objects
-- Objects of a session in order of admission, a page at a time, or the one with this key.
SELECT
    objects.key, objects.type, objects.tool, objects.source_key, objects.content_hash, objects.tokens, objects.level,
    objects.line, objects.names, objects.tags, objects.is_pinned, objects.is_error, objects.is_recalled,
    objects.is_in_window, objects.superseded_by, objects.fault_count, objects.first_call, objects.last_use,
    objects.created_at
FROM state.context_sessions AS sessions
JOIN state.context_objects AS objects ON objects.tenant_id = %(tenant_id)s AND objects.session_id = sessions.session_id
WHERE sessions.tenant_id = %(tenant_id)s AND sessions.owner = %(owner)s AND sessions.session = %(session)s
  AND (%(key)s::text IS NULL OR objects.key = %(key)s)
  AND (
      %(after)s::text IS NULL
      OR objects."position" > (
          SELECT previous."position" FROM state.context_objects AS previous
          WHERE previous.tenant_id = %(tenant_id)s AND previous.session_id = sessions.session_id
            AND previous.key = %(after)s
      )
  )
ORDER BY objects."position"
LIMIT %(limit)s

-- name: relationships
-- Relationships of one object, from it and to it.
SELECT related.from_key, related.to_key, related.relation
FROM state.context_sessions AS sessions
JOIN state.context_relationships AS related
    ON related.tenant_id = %(tenant_id)s AND related.session_id = sessions.session_id
WHERE sessions.tenant_id = %(tenant_id)s AND sessions.owner = %(owner)s AND sessions.session = %(session)s
  AND (related.from_key = %(key)s OR related.to_key = %(key)s)
ORDER BY related.from_key, related.to_key, related.relation

-- name: assemble
-- The objects of a context within a budget of tokens: pinned ones first, then by level, the last used first. Each is shown
-- as it was sent; pinned and lately restored ones in full. One that does not fit is shown shorter: as it was sent, then
-- at a level that the model has written, then in one line; one that does not fit at all has no text. Evicted objects and those out of the window are not looked at.
WITH RECURSIVE wanted AS (
    SELECT
        row_number() OVER (
            ORDER BY objects.is_pinned DESC, is_full DESC, objects.level, objects.last_use DESC, objects."position" DESC
        ) AS rank,
        objects.key, objects.level, objects.is_pinned, objects.content_hash, objects.sent_text,
        objects.line, is_full, first.text AS first_text, second.text AS second_text,
        sizes.head + ceil(octet_length(first.text) * sessions.tokens_per_char)::int AS first_tokens,
        sizes.head + ceil(octet_length(second.text) * sessions.tokens_per_char)::int AS second_tokens,
        sizes.head + objects.tokens[1] AS full_tokens,
        sizes.head + ceil(octet_length(objects.sent_text) * sessions.tokens_per_char)::int AS sent_tokens,
        CASE WHEN objects.line <> ''
            THEN sizes.head + ceil(octet_length(objects.line) * sessions.tokens_per_char)::int
        END AS line_tokens
    FROM state.context_sessions AS sessions
    JOIN state.context_objects AS objects
        ON objects.tenant_id = %(tenant_id)s AND objects.session_id = sessions.session_id
    CROSS JOIN LATERAL (
        SELECT ceil((octet_length(objects.key) + %(head_bytes)s) * sessions.tokens_per_char)::int AS head
    ) AS sizes
    CROSS JOIN LATERAL (
        SELECT objects.is_pinned OR objects.sent_text IS NULL
            OR coalesce(objects.restored_call >= sessions.call_count - %(restored_calls)s, false) AS is_full
    ) AS shown
    LEFT JOIN state.context_levels AS first
        ON first.tenant_id = %(tenant_id)s AND first.owner = %(owner)s AND first.content_hash = objects.content_hash
        AND first.level = 1 AND first.made_by = 'model' AND objects.level < 1
    LEFT JOIN state.context_levels AS second
        ON second.tenant_id = %(tenant_id)s AND second.owner = %(owner)s AND second.content_hash = objects.content_hash
        AND second.level = 2 AND second.made_by = 'model' AND objects.level < 2
    WHERE sessions.tenant_id = %(tenant_id)s AND sessions.owner = %(owner)s AND sessions.session = %(session)s
      AND objects.is_in_window AND (objects.level < 4 OR is_full)
),
chosen AS (
    SELECT 0::bigint AS rank, %(budget_tokens)s::int AS left_tokens, NULL::int AS tokens, NULL::text AS form
    UNION ALL
    SELECT wanted.rank, chosen.left_tokens - coalesce(best.tokens, 0), best.tokens, best.form
    FROM chosen
    JOIN wanted ON wanted.rank = chosen.rank + 1
    LEFT JOIN LATERAL (
        SELECT forms.tokens, forms.form
        FROM (
            VALUES
                (1, CASE WHEN wanted.is_full THEN wanted.full_tokens END, 'full'),
                (2, wanted.sent_tokens, 'sent'),
                (3, wanted.first_tokens, 'first'),
                (4, wanted.second_tokens, 'second'),
                (5, wanted.line_tokens, 'line')
        ) AS forms ("order", tokens, form)
        WHERE forms.tokens <= chosen.left_tokens
        ORDER BY forms."order"
        LIMIT 1
    ) AS best ON true
)
SELECT
    wanted.key, wanted.is_pinned, chosen.tokens, chosen.form,
    CASE chosen.form
        WHEN 'full' THEN 0 WHEN 'sent' THEN wanted.level WHEN 'first' THEN 1 WHEN 'second' THEN 2 WHEN 'line' THEN 3 ELSE 4
    END AS level,
    CASE chosen.form
        WHEN 'full' THEN (
            SELECT contents.content FROM state.context_contents AS contents
            WHERE contents.tenant_id = %(tenant_id)s AND contents.owner = %(owner)s
              AND contents.content_hash = wanted.content_hash
        )
        WHEN 'sent' THEN wanted.sent_text
        WHEN 'first' THEN wanted.first_text
        WHEN 'second' THEN wanted.second_text
        WHEN 'line' THEN convert_to(wanted.line, 'UTF8')
    END AS text
FROM chosen JOIN wanted ON wanted.rank = chosen.rank
ORDER BY chosen.rank

-- name: history
-- The decisions of a session in the order in which they were taken, a page at a time.
WITH sessions AS (
    SELECT session_id FROM state.context_sessions
    WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND session = %(session)s
),
events AS (
    SELECT
        event_id, 'request' AS kind, call, at, NULL::text AS key, NULL::smallint AS from_level, NULL::smallint AS to_level,
        tokens, full_tokens, zone, saved_usd, NULL::int AS epoch, NULL::text AS fault, NULL::text AS question,
        NULL::text[] AS restored, NULL::double precision AS score, NULL::jsonb AS parts,
        NULL::double precision AS threshold, NULL::text AS reason
    FROM state.context_steps JOIN sessions USING (session_id)
    WHERE tenant_id = %(tenant_id)s AND (%(after)s::uuid IS NULL OR event_id > %(after)s)
    UNION ALL
    SELECT
        event_id, 'admission', call, at, key, NULL, level, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, score, parts,
        threshold, reason
    FROM state.context_admissions JOIN sessions USING (session_id)
    WHERE tenant_id = %(tenant_id)s AND (%(after)s::uuid IS NULL OR event_id > %(after)s)
    UNION ALL
    SELECT
        event_id, 'transition', call, at, key, from_level, to_level, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
        NULL, NULL, reason
    FROM state.context_transitions JOIN sessions USING (session_id)
    WHERE tenant_id = %(tenant_id)s AND (%(after)s::uuid IS NULL OR event_id > %(after)s)
    UNION ALL
    SELECT
        event_id, 'fault', call, at, key, NULL, NULL, tokens, NULL, NULL, NULL, NULL, kind, question, restored, NULL,
        NULL, NULL, NULL
    FROM state.context_faults JOIN sessions USING (session_id)
    WHERE tenant_id = %(tenant_id)s AND (%(after)s::uuid IS NULL OR event_id > %(after)s)
    UNION ALL
    SELECT
        event_id, 'epoch', call, at, NULL, NULL, NULL, tokens_after, tokens_before, NULL, saving_usd, number, NULL, NULL,
        NULL, NULL, NULL, NULL, reason
    FROM state.context_epochs JOIN sessions USING (session_id)
    WHERE tenant_id = %(tenant_id)s AND (%(after)s::uuid IS NULL OR event_id > %(after)s)
)
SELECT * FROM events
WHERE %(kinds)s::text[] IS NULL OR kind = ANY (%(kinds)s)
ORDER BY event_id
LIMIT %(limit)s

-- name: close
-- Closes a session; no row if there is none. Closing it again keeps the time.
UPDATE state.context_sessions SET closed_at = coalesce(closed_at, now())
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND session = %(session)s
RETURNING session_id

-- name: delete
-- Deletes a session with everything except full texts, which other sessions may share.
DELETE FROM state.context_sessions
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND session = %(session)s
RETURNING session_id

-- name: idle
-- Open sessions of all owners that were not used for a while, a page at a time.
SELECT session_id, owner, channel, session
FROM state.context_sessions
WHERE tenant_id = %(tenant_id)s AND closed_at IS NULL AND used_at < now() - make_interval(secs => %(idle_s)s)
  AND (%(owner)s::text IS NULL OR owner = %(owner)s) AND session_id > %(after)s
ORDER BY session_id
LIMIT %(limit)s

-- name: prune
-- Deletes some sessions of the tenant that were not used for longer than they are kept.
DELETE FROM state.context_sessions
WHERE context_sessions.tenant_id = %(tenant_id)s
  AND context_sessions.session_id IN (
      SELECT old.session_id FROM state.context_sessions AS old
      WHERE old.tenant_id = %(tenant_id)s AND old.used_at < (SELECT mnemic.retention_time()) - make_interval(days => %(keep_days)s)
      LIMIT %(limit)s
  )

-- name: prune_contents
-- Deletes some full texts of the tenant that no object has any more and that were not stored lately.
DELETE FROM state.context_contents AS contents
WHERE contents.tenant_id = %(tenant_id)s
  AND (contents.owner, contents.content_hash) IN (
      SELECT old.owner, old.content_hash FROM state.context_contents AS old
      WHERE old.tenant_id = %(tenant_id)s AND old.stored_at < now() - make_interval(secs => %(kept_s)s)
        AND NOT EXISTS (
            SELECT FROM state.context_objects AS objects
            WHERE objects.tenant_id = %(tenant_id)s AND objects.owner = old.owner
              AND objects.content_hash = old.content_hash
        )
      LIMIT %(limit)s
  )
  AND contents.stored_at < now() - make_interval(secs => %(kept_s)s)

-- name: useful
-- Objects of a session that were faulted, pinned or reused and have not been learned, the most useful first. Copies that
-- a newer one superseded, errors and recalled memories are not among them.
SELECT
    objects.key, objects.type, objects.tool, objects.source_key, objects.content_hash, objects.is_pinned,
    objects.fault_count, objects.first_call, objects.last_use, objects.tags, contents.content,
    ARRAY(
        SELECT faults.question FROM state.context_faults AS faults
        WHERE faults.tenant_id = %(tenant_id)s AND faults.session_id = sessions.session_id AND faults.key = objects.key
          AND faults.kind = 'micro' AND faults.question <> ''
        ORDER BY faults.event_id DESC
        LIMIT %(questions_max)s
    ) AS questions,
    copies.copy_count
FROM state.context_sessions AS sessions
JOIN state.context_objects AS objects ON objects.tenant_id = %(tenant_id)s AND objects.session_id = sessions.session_id
JOIN state.context_contents AS contents
    ON contents.tenant_id = %(tenant_id)s AND contents.owner = %(owner)s AND contents.content_hash = objects.content_hash
CROSS JOIN LATERAL (
    SELECT count(*)::int AS copy_count FROM state.context_objects AS copies
    WHERE copies.tenant_id = %(tenant_id)s AND copies.session_id = sessions.session_id
      AND copies.source_key = objects.source_key AND objects.source_key <> ''
) AS copies
WHERE sessions.tenant_id = %(tenant_id)s AND sessions.owner = %(owner)s AND sessions.session = %(session)s
  AND objects.superseded_by IS NULL AND NOT objects.is_error AND NOT objects.is_recalled
  AND (
      objects.is_pinned OR objects.fault_count > 0 OR copies.copy_count > 1
      OR objects.last_use - objects.first_call >= %(reuse_calls)s
  )
  AND NOT EXISTS (
      SELECT FROM state.context_learned AS learned
      WHERE learned.tenant_id = %(tenant_id)s AND learned.owner = %(owner)s
        AND learned.content_hash = objects.content_hash
  )
ORDER BY objects.is_pinned DESC, objects.fault_count DESC, copies.copy_count DESC,
    objects.last_use - objects.first_call DESC, objects."position"
LIMIT %(limit)s

-- name: learned
-- Records which contents became memories; one that is recorded already stays as it is.
INSERT INTO state.context_learned (tenant_id, owner, content_hash, session_id, key, source_key, memory_id)
SELECT %(tenant_id)s, %(owner)s, given.content_hash, sessions.session_id, given.key, given.source_key, given.memory_id
FROM state.context_sessions AS sessions,
    unnest(%(hashes)s::bytea[], %(keys)s::text[], %(source_keys)s::text[], %(memory_ids)s::uuid[])
        AS given (content_hash, key, source_key, memory_id)
WHERE sessions.tenant_id = %(tenant_id)s AND sessions.owner = %(owner)s AND sessions.session = %(session)s
ON CONFLICT DO NOTHING
RETURNING content_hash

-- name: mark_learned
-- Notes when the useful objects of a session became memories.
UPDATE state.context_sessions SET learned_at = now()
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND session = %(session)s
