-- Context paging: levels 1 and 2 of full texts, made by rules or written by a language model.

-- name: of_content
-- The stored levels of one full text.
SELECT level, made_by, maker, source_hash, text, tokens, lost, can_answer, fault_when
FROM state.context_levels
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND content_hash = %(content_hash)s AND text IS NOT NULL

-- name: of_window
-- The levels that the model has written of objects in the window of a session.
SELECT DISTINCT ON (levels.content_hash, levels.level)
    levels.content_hash, levels.level, levels.text, levels.tokens, levels.lost, levels.can_answer, levels.fault_when
FROM state.context_sessions AS sessions
JOIN state.context_objects AS objects ON objects.tenant_id = %(tenant_id)s AND objects.session_id = sessions.session_id
JOIN state.context_levels AS levels
    ON levels.tenant_id = %(tenant_id)s AND levels.owner = %(owner)s AND levels.content_hash = objects.content_hash
WHERE sessions.tenant_id = %(tenant_id)s AND sessions.owner = %(owner)s AND sessions.session = %(session)s
  AND objects.is_in_window AND levels.made_by = 'model' AND levels.text IS NOT NULL
ORDER BY levels.content_hash, levels.level

-- name: store
-- Stores levels of a full text. Newer rules replace what older ones made; nothing is stored of a text that was deleted.
INSERT INTO state.context_levels AS stored (
    tenant_id, owner, content_hash, level, made_by, maker, source_hash, text, dropped, tokens, lost, can_answer, fault_when
)
SELECT
    %(tenant_id)s, %(owner)s, held.content_hash, given.level, %(made_by)s, %(maker)s, %(source_hash)s::bytea, texts.text,
    given.dropped, given.tokens, given.lost, given.can_answer, given.fault_when
FROM (
    SELECT contents.content_hash FROM state.context_contents AS contents
    WHERE contents.tenant_id = %(tenant_id)s AND contents.owner = %(owner)s AND contents.content_hash = %(content_hash)s
    FOR KEY SHARE
) AS held
CROSS JOIN jsonb_to_recordset(%(levels)s) AS given (
    level smallint, dropped text, tokens int, lost text[], can_answer text[], fault_when text[]
)
LEFT JOIN unnest(%(numbers)s::smallint[], %(texts)s::bytea[]) AS texts (level, text) ON texts.level = given.level
ON CONFLICT (tenant_id, owner, content_hash, level, made_by) DO UPDATE
SET maker = excluded.maker, source_hash = excluded.source_hash, text = excluded.text, dropped = excluded.dropped,
    tokens = excluded.tokens, lost = excluded.lost, can_answer = excluded.can_answer, fault_when = excluded.fault_when,
    made_at = now()

-- name: wanted
-- The next full text about which the model has not been asked: of an open session in use, the newest object first.
SELECT
    sessions.owner, objects.content_hash, objects.type, objects.tool, objects.source_key, objects.is_error, contents.content
FROM state.context_sessions AS sessions
JOIN state.context_objects AS objects ON objects.tenant_id = %(tenant_id)s AND objects.session_id = sessions.session_id
JOIN state.context_contents AS contents
    ON contents.tenant_id = %(tenant_id)s AND contents.owner = sessions.owner AND contents.content_hash = objects.content_hash
WHERE sessions.tenant_id = %(tenant_id)s AND (%(owner)s::text IS NULL OR sessions.owner = %(owner)s)
  AND sessions.closed_at IS NULL AND sessions.used_at > now() - make_interval(secs => %(active_s)s)
  AND objects.is_in_window AND objects.superseded_by IS NULL AND NOT objects.is_recalled
  AND octet_length(contents.content) BETWEEN %(min_bytes)s AND %(max_bytes)s
  AND NOT EXISTS (
      SELECT FROM state.context_levels AS levels
      WHERE levels.tenant_id = %(tenant_id)s AND levels.owner = sessions.owner
        AND levels.content_hash = objects.content_hash AND levels.made_by = 'model'
  )
ORDER BY sessions.used_at DESC, sessions.session_id, objects."position" DESC
LIMIT 1

-- name: count_in_sessions
-- Counts the levels that the model has written of the objects of each open session, also for a text of another session.
UPDATE state.context_sessions AS sessions
SET level_count = counted.level_count
FROM (
    SELECT opened.session_id, count(*)::int AS level_count
    FROM state.context_sessions AS opened
    JOIN state.context_objects AS objects
        ON objects.tenant_id = %(tenant_id)s AND objects.session_id = opened.session_id
    JOIN state.context_levels AS levels
        ON levels.tenant_id = %(tenant_id)s AND levels.owner = opened.owner AND levels.content_hash = objects.content_hash
    WHERE opened.tenant_id = %(tenant_id)s AND opened.closed_at IS NULL
      AND (%(owner)s::text IS NULL OR opened.owner = %(owner)s)
      AND levels.made_by = 'model' AND levels.text IS NOT NULL
    GROUP BY opened.session_id
) AS counted
WHERE sessions.tenant_id = %(tenant_id)s AND sessions.session_id = counted.session_id
  AND sessions.level_count <> counted.level_count
