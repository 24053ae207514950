-- Answers to requests that may be repeated. See migration 0015 for the states of a row.

-- name: prune
-- Forgets some of the tenant's oldest rows, if they are older than they are kept.
DELETE FROM queue.idempotent_requests AS old
USING (
    SELECT tenant_id, key_id, request_hash
    FROM queue.idempotent_requests
    WHERE started_at < now() - make_interval(secs => %(kept_s)s::float8)
    ORDER BY started_at
    LIMIT %(limit)s
    FOR UPDATE SKIP LOCKED
) AS found
WHERE (old.tenant_id, old.key_id, old.request_hash) = (found.tenant_id, found.key_id, found.request_hash)

-- name: begin
-- Reserves a request for this attempt; `is_begun` is false if another attempt runs or has its answer. An attempt that
-- has been running for too long died with its server, and its place is taken. Signed: a transaction by itself.
WITH begun AS (
    INSERT INTO queue.idempotent_requests AS kept (tenant_id, key_id, request_hash, owner, attempt_id)
    SELECT tenant_id, %(key_id)s, %(request_hash)s, %(owner)s, %(attempt_id)s
    FROM mnemic.authenticate_tenant(%(tenant_id)s, %(signature)s::text) AS entered (tenant_id)
    ON CONFLICT (tenant_id, key_id, request_hash) DO UPDATE
    SET started_at = now(), attempt_id = excluded.attempt_id, owner = excluded.owner,
        body_hash = NULL, status = NULL, content_type = NULL, answer = NULL
    WHERE kept.started_at < now() - make_interval(
        secs => CASE WHEN kept.status IS NULL THEN %(stale_s)s::float8 ELSE %(kept_s)s::float8 END
    )
    RETURNING attempt_id
)
SELECT count(*) = 1 AS is_begun FROM begun

-- name: get
-- What is kept of a request: its answer, or that it runs (`status` is NULL).
SELECT body_hash, status, content_type, answer
FROM queue.idempotent_requests
WHERE key_id = %(key_id)s AND request_hash = %(request_hash)s

-- name: finish
-- Keeps the answer of this attempt, unless another attempt has taken its place; `is_kept` says so. Signed, and an INSERT
-- that meets its row: only where the row comes from is the tenant entered before a policy asks for it.
WITH finished AS (
    INSERT INTO queue.idempotent_requests AS kept
        (tenant_id, key_id, request_hash, owner, attempt_id, body_hash, status, content_type, answer)
    SELECT tenant_id, %(key_id)s, %(request_hash)s, %(owner)s, %(attempt_id)s, %(body_hash)s, %(status)s,
        %(content_type)s, %(answer)s
    FROM mnemic.authenticate_tenant(%(tenant_id)s, %(signature)s::text) AS entered (tenant_id)
    ON CONFLICT (tenant_id, key_id, request_hash) DO UPDATE
    SET body_hash = excluded.body_hash, status = excluded.status, content_type = excluded.content_type,
        answer = excluded.answer, owner = coalesce(excluded.owner, kept.owner)
    WHERE kept.attempt_id = excluded.attempt_id
    RETURNING attempt_id
)
SELECT count(*) = 1 AS is_kept FROM finished

-- name: abandon
-- Forgets a request that was not carried out, so that it can be made again.
DELETE FROM queue.idempotent_requests
WHERE key_id = %(key_id)s AND request_hash = %(request_hash)s AND attempt_id = %(attempt_id)s AND status IS NULL
