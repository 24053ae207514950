-- Context paging: the state of windows, as context/store.py reads and writes it. A window is saved by one statement.

-- name: save
-- Saves what changed in a window, and the decisions that changed it; returns the new version, or null and nothing is
-- written: if the session has another version than the caller has read (0 for a new session), or if the owner has too
-- many sessions. Positions of new objects follow those that are stored.
WITH held AS (
    INSERT INTO state.context_sessions AS stored (
        tenant_id, owner, channel, session, epoch, call_count, zone, tokens, full_tokens, tokens_per_char, model, sent_at,
        saved_usd, more
    )
    SELECT
        %(tenant_id)s, %(owner)s, %(channel)s, %(session)s, %(epoch)s, %(call_count)s, coalesce(%(zone)s::text, 'normal'),
        coalesce(%(tokens)s::int, 0), coalesce(%(full_tokens)s::int, 0), %(tokens_per_char)s, %(model)s,
        %(sent_at)s::timestamptz, %(saved_usd)s, %(more)s
    WHERE CASE
        WHEN %(version)s = 0 THEN %(sessions_max)s > (
            SELECT count(*) FROM state.context_sessions AS others
            WHERE others.tenant_id = %(tenant_id)s AND others.owner = %(owner)s
        )
        ELSE EXISTS (
            SELECT FROM state.context_sessions AS present
            WHERE present.tenant_id = %(tenant_id)s AND present.owner = %(owner)s AND present.session = %(session)s
        )
    END
    ON CONFLICT (tenant_id, owner, session) DO UPDATE
    SET version = stored.version + 1, epoch = excluded.epoch, call_count = excluded.call_count,
        zone = coalesce(%(zone)s::text, stored.zone), tokens = coalesce(%(tokens)s::int, stored.tokens),
        full_tokens = coalesce(%(full_tokens)s::int, stored.full_tokens), tokens_per_char = excluded.tokens_per_char,
        model = excluded.model, sent_at = excluded.sent_at, saved_usd = excluded.saved_usd, more = excluded.more,
        used_at = now(), closed_at = CASE WHEN %(reopens)s THEN NULL ELSE stored.closed_at END
    WHERE stored.version = %(version)s
    RETURNING session_id, version
),
contents AS (
    INSERT INTO state.context_contents AS stored (tenant_id, owner, content_hash, content)
    SELECT DISTINCT ON (given.content_hash) %(tenant_id)s, %(owner)s, given.content_hash, given.content
    FROM held, unnest(%(content_hashes)s::bytea[], %(contents)s::bytea[]) AS given (content_hash, content)
    ORDER BY given.content_hash
    -- Locks the row and renews its time, so that the job that deletes unused contents leaves it alone.
    ON CONFLICT (tenant_id, owner, content_hash) DO UPDATE SET stored_at = now()
),
objects AS (
    INSERT INTO state.context_objects AS stored (
        tenant_id, owner, session_id, key, "position", type, tool, source_key, content_hash, tokens, level, sent_text, line,
        names, tags, first_call, last_use, is_error, is_pinned, is_recalled, superseded_by, fault_count, more
    )
    SELECT
        %(tenant_id)s, %(owner)s, held.session_id, given.key, coalesce(last.position + 1, 0) + given.index, given.type,
        given.tool, given.source_key, decode(given.content_hash, 'hex'), given.tokens, given.level, sent.text,
        coalesce(given.line, ''), coalesce(given.names, '{}'), coalesce(given.tags, '{}'), given.first_call,
        given.last_use, given.is_error, given.is_pinned, coalesce(given.is_recalled, false), given.superseded_by,
        given.fault_count, given.more
    FROM held
    CROSS JOIN LATERAL (
        SELECT max(placed.position) AS position FROM state.context_objects AS placed
        WHERE placed.tenant_id = %(tenant_id)s AND placed.session_id = held.session_id
    ) AS last
    CROSS JOIN jsonb_to_recordset(%(objects)s) AS given (
        index int, key text, type text, tool text, source_key text, content_hash text, tokens int[], level smallint,
        line text, names text[], tags text[], first_call int, last_use int, is_error boolean, is_pinned boolean,
        is_recalled boolean, superseded_by text, fault_count int, more jsonb
    )
    LEFT JOIN unnest(%(sent_keys)s::text[], %(sent_texts)s::bytea[]) AS sent (key, text) ON sent.key = given.key
    ON CONFLICT (tenant_id, session_id, key) DO UPDATE
    SET type = excluded.type, tool = excluded.tool, source_key = excluded.source_key, content_hash = excluded.content_hash,
        tokens = excluded.tokens, level = excluded.level, sent_text = excluded.sent_text,
        line = CASE WHEN excluded.line = '' THEN stored.line ELSE excluded.line END,
        names = CASE WHEN excluded.names = '{}' THEN stored.names ELSE excluded.names END,
        tags = CASE WHEN excluded.tags = '{}' THEN stored.tags ELSE excluded.tags END,
        first_call = excluded.first_call, last_use = excluded.last_use, is_error = excluded.is_error,
        is_pinned = excluded.is_pinned, is_recalled = stored.is_recalled OR excluded.is_recalled,
        superseded_by = excluded.superseded_by, fault_count = excluded.fault_count, is_in_window = true,
        more = excluded.more
),
gone AS (
    UPDATE state.context_objects AS stored SET is_in_window = false
    FROM held
    WHERE stored.tenant_id = %(tenant_id)s AND stored.session_id = held.session_id AND stored.key = ANY (%(gone_keys)s)
),
related AS (
    INSERT INTO state.context_relationships (tenant_id, owner, session_id, from_key, to_key, relation)
    SELECT DISTINCT %(tenant_id)s::uuid, %(owner)s, held.session_id, given.from_key, given.to_key, given.relation
    FROM held, jsonb_to_recordset(%(related)s) AS given (from_key text, to_key text, relation text)
    ON CONFLICT DO NOTHING
),
unrelated AS (
    DELETE FROM state.context_relationships AS stored
    USING held, jsonb_to_recordset(%(unrelated)s) AS given (from_key text, to_key text, relation text)
    WHERE stored.tenant_id = %(tenant_id)s AND stored.session_id = held.session_id AND stored.from_key = given.from_key
      AND stored.to_key = given.to_key AND stored.relation = given.relation
),
epochs AS (
    INSERT INTO state.context_epochs (
        tenant_id, owner, session_id, event_id, call, number, reason, tokens_before, tokens_after, saving_usd
    )
    SELECT %(tenant_id)s, %(owner)s, held.session_id, given.*
    FROM held, jsonb_to_recordset(%(epochs)s) AS given (
        event_id uuid, call int, number int, reason text, tokens_before int, tokens_after int, saving_usd double precision
    )
),
transitions AS (
    INSERT INTO state.context_transitions (
        tenant_id, owner, session_id, event_id, call, key, from_level, to_level, reason
    )
    SELECT %(tenant_id)s, %(owner)s, held.session_id, given.*
    FROM held, jsonb_to_recordset(%(transitions)s) AS given (
        event_id uuid, call int, key text, from_level smallint, to_level smallint, reason text
    )
),
admissions AS (
    INSERT INTO state.context_admissions (
        tenant_id, owner, session_id, event_id, call, key, level, score, parts, threshold, reason
    )
    SELECT %(tenant_id)s, %(owner)s, held.session_id, given.*
    FROM held, jsonb_to_recordset(%(admissions)s) AS given (
        event_id uuid, call int, key text, level smallint, score double precision, parts jsonb,
        threshold double precision, reason text
    )
),
faults AS (
    INSERT INTO state.context_faults (
        tenant_id, owner, session_id, event_id, call, key, kind, question, tokens, restored
    )
    SELECT %(tenant_id)s, %(owner)s, held.session_id, given.*
    FROM held, jsonb_to_recordset(%(faults)s) AS given (
        event_id uuid, call int, key text, kind text, question text, tokens int, restored text[]
    )
),
steps AS (
    INSERT INTO state.context_steps (
        tenant_id, owner, session_id, event_id, call, tokens, full_tokens, zone, saved_usd
    )
    SELECT %(tenant_id)s, %(owner)s, held.session_id, given.*
    FROM held, jsonb_to_recordset(%(steps)s) AS given (
        event_id uuid, call int, tokens int, full_tokens int, zone text, saved_usd double precision
    )
)
SELECT (SELECT held.version FROM held) AS version

-- name: session
-- The state of a window, with its relationships.
SELECT
    session_id, version, epoch, call_count, tokens_per_char, model, sent_at, saved_usd, level_count, more,
    (
        SELECT coalesce(jsonb_agg(jsonb_build_array(from_key, to_key, relation) ORDER BY from_key, to_key, relation), '[]')
        FROM state.context_relationships AS related
        WHERE related.tenant_id = %(tenant_id)s AND related.session_id = sessions.session_id
    ) AS related
FROM state.context_sessions AS sessions
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND session = %(session)s

-- name: version
-- The version of a window, and the count of its levels that a model has written; no row if there is no such session.
-- Signed: a transaction by itself, because every request of the proxy asks.
SELECT found.version, found.level_count
FROM mnemic.authenticate_tenant(%(tenant_id)s, %(signature)s::text) AS entered (tenant_id)
CROSS JOIN LATERAL mnemic.session_version(entered.tenant_id, %(owner)s, %(session)s) AS found

-- name: hold_session
-- Makes other transactions that would change this session wait until this one ends.
SELECT session_id FROM state.context_sessions
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND session = %(session)s
FOR NO KEY UPDATE

-- name: window_objects
-- The objects in the window of a session, in order of admission.
SELECT
    key, type, tool, source_key, content_hash, tokens, level, sent_text, first_call, last_use, is_error, is_pinned,
    superseded_by, fault_count, more
FROM state.context_objects
WHERE tenant_id = %(tenant_id)s AND session_id = %(session_id)s AND is_in_window
ORDER BY "position"

-- name: contents
-- Full texts of objects of a session, of all or of those with these keys.
SELECT objects.key, contents.content
FROM state.context_sessions AS sessions
JOIN state.context_objects AS objects ON objects.tenant_id = %(tenant_id)s AND objects.session_id = sessions.session_id
JOIN state.context_contents AS contents
    ON contents.tenant_id = %(tenant_id)s AND contents.owner = %(owner)s AND contents.content_hash = objects.content_hash
WHERE sessions.tenant_id = %(tenant_id)s AND sessions.owner = %(owner)s AND sessions.session = %(session)s
  AND (%(keys)s::text[] IS NULL OR objects.key = ANY (%(keys)s))

-- name: window_contents
-- The objects in the window of a session with their full texts, in order of admission.
SELECT
    objects.key, objects.type, objects.tool, objects.source_key, objects.content_hash, objects.tokens, objects.level,
    objects.sent_text, objects.first_call, objects.last_use, objects.is_error, objects.is_pinned, objects.superseded_by,
    objects.fault_count, objects.more, contents.content
FROM state.context_objects AS objects
JOIN state.context_contents AS contents
    ON contents.tenant_id = %(tenant_id)s AND contents.owner = %(owner)s AND contents.content_hash = objects.content_hash
WHERE objects.tenant_id = %(tenant_id)s AND objects.session_id = %(session_id)s AND objects.is_in_window
ORDER BY objects."position"

-- name: lock_sessions
-- Lets the sessions of an owner begin one after the other.
SELECT pg_advisory_xact_lock(hashtextextended('mnemic.context ' || %(tenant_id)s::text || ' ' || %(owner)s::text, 0))

-- name: open
-- Begins a session, unless it exists or the owner has too many.
INSERT INTO state.context_sessions (tenant_id, owner, channel, session)
SELECT %(tenant_id)s, %(owner)s, %(channel)s, %(session)s
WHERE %(sessions_max)s > (
    SELECT count(*) FROM state.context_sessions AS others
    WHERE others.tenant_id = %(tenant_id)s AND others.owner = %(owner)s
)
ON CONFLICT (tenant_id, owner, session) DO NOTHING

-- name: next_position
-- How many objects a session has had.
SELECT coalesce(max("position") + 1, 0) AS "position"
FROM state.context_objects
WHERE tenant_id = %(tenant_id)s AND session_id = %(session_id)s

-- name: find_key
-- The object of a session with this key, else the newest one of this source.
SELECT objects.key
FROM state.context_sessions AS sessions
JOIN state.context_objects AS objects ON objects.tenant_id = %(tenant_id)s AND objects.session_id = sessions.session_id
WHERE sessions.tenant_id = %(tenant_id)s AND sessions.owner = %(owner)s AND sessions.session = %(session)s
  AND (objects.key = %(key)s OR objects.source_key = %(key)s)
ORDER BY objects.key = %(key)s DESC, objects."position" DESC
LIMIT 1

-- name: mark_restored
-- Notes that objects were restored after the last request.
UPDATE state.context_objects AS objects
SET restored_call = sessions.call_count
FROM state.context_sessions AS sessions
WHERE sessions.tenant_id = %(tenant_id)s AND sessions.owner = %(owner)s AND sessions.session = %(session)s
  AND objects.tenant_id = %(tenant_id)s AND objects.session_id = sessions.session_id AND objects.key = ANY (%(keys)s)

-- name: undescribed
-- Objects of a session that were stored without their line and names, with their full texts, the oldest first.
SELECT
    objects.key, objects.type, objects.tool, objects.source_key, objects.is_error, contents.content
FROM state.context_sessions AS sessions
JOIN state.context_objects AS objects ON objects.tenant_id = %(tenant_id)s AND objects.session_id = sessions.session_id
JOIN state.context_contents AS contents
    ON contents.tenant_id = %(tenant_id)s AND contents.owner = %(owner)s AND contents.content_hash = objects.content_hash
WHERE sessions.tenant_id = %(tenant_id)s AND sessions.owner = %(owner)s AND sessions.session = %(session)s
  AND objects.line = ''
ORDER BY objects."position"
LIMIT %(limit)s

-- name: describe
-- Stores lines and names of objects that have none.
UPDATE state.context_objects AS objects
SET line = given.line, names = given.names, is_recalled = objects.is_recalled OR given.is_recalled
FROM state.context_sessions AS sessions,
    jsonb_to_recordset(%(described)s) AS given (key text, line text, names text[], is_recalled boolean)
WHERE sessions.tenant_id = %(tenant_id)s AND sessions.owner = %(owner)s AND sessions.session = %(session)s
  AND objects.tenant_id = %(tenant_id)s AND objects.session_id = sessions.session_id AND objects.key = given.key
  AND objects.line = ''
