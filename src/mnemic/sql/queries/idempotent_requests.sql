-- Responses to requests that may be repeated. See migrations/0012_access.sql for the states of a row.

-- name: prune
-- Deletes some of the tenant's oldest rows that are past their retention.
DELETE FROM queue.idempotent_requests AS old
USING (
    SELECT tenant_id, key_id, request_hash
    FROM queue.idempotent_requests
    WHERE idempotent_requests.tenant_id = %(tenant_id)s
      AND started_at < (SELECT mnemic.retention_time()) - make_interval(secs => %(kept_s)s::float8)
    ORDER BY started_at
    LIMIT %(limit)s
    FOR UPDATE SKIP LOCKED
) AS found
WHERE old.tenant_id = %(tenant_id)s
  AND (old.tenant_id, old.key_id, old.request_hash) = (found.tenant_id, found.key_id, found.request_hash)

-- name: begin
-- Reserves a request for this attempt; `is_begun` is false if another attempt runs or has a response. An attempt
-- that was not renewed for too long died with its server and is replaced. Signed: a transaction by itself.
WITH begun AS (
    INSERT INTO queue.idempotent_requests AS kept (tenant_id, key_id, request_hash, owner, attempt_id)
    SELECT tenant_id, %(key_id)s, %(request_hash)s, %(owner)s, %(attempt_id)s
    FROM mnemic.authenticate_tenant(%(tenant_id)s, %(signature)s::text) AS entered (tenant_id)
    ON CONFLICT (tenant_id, key_id, request_hash) DO UPDATE
    SET started_at = now(), attempt_id = excluded.attempt_id, owner = excluded.owner,
        body_hash = NULL, status = NULL, content_type = NULL, answer = NULL
    WHERE kept.started_at < CASE
        WHEN kept.status IS NULL THEN now() - make_interval(secs => %(stale_s)s::float8)
        ELSE mnemic.retention_time() - make_interval(secs => %(kept_s)s::float8)
    END
    RETURNING attempt_id
)
SELECT count(*) = 1 AS is_begun FROM begun

-- name: get
-- The stored response of a request; `status` is NULL while it runs.
SELECT body_hash, status, content_type, answer
FROM queue.idempotent_requests
WHERE tenant_id = %(tenant_id)s AND key_id = %(key_id)s AND request_hash = %(request_hash)s

-- name: finish
-- Stores the response of this attempt, unless another attempt has replaced it; `is_kept` says so. Signed. It is an
-- INSERT that conflicts with the row: only the source of the rows is evaluated before a policy, so the tenant is
-- authenticated in time.
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

-- name: renew
-- Notes that an attempt is still running; `started_at` is then the time of the last renewal.
UPDATE queue.idempotent_requests SET started_at = now()
WHERE tenant_id = %(tenant_id)s
  AND key_id = %(key_id)s AND request_hash = %(request_hash)s AND attempt_id = %(attempt_id)s AND status IS NULL

-- name: abandon
-- Deletes a request that was not carried out, so that it can be repeated.
DELETE FROM queue.idempotent_requests
WHERE tenant_id = %(tenant_id)s
  AND key_id = %(key_id)s AND request_hash = %(request_hash)s AND attempt_id = %(attempt_id)s AND status IS NULL
