-- Whether the database can serve.

-- name: sort_on_disk
-- Until the end of the transaction, sorts of more than 64 kB use temporary files.
SELECT set_config('work_mem', '64kB', true)

-- name: write_to_disk
-- One row: whether the database takes no writes, because it is a standby or was set so. To find out whether its
-- disk takes any, it sorts 8 MB in a temporary file, which fails if the disk is full or read-only. It writes no
-- row and no WAL.
SELECT
    count(*) AS sorted_count,
    pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean AS is_read_only
FROM (
    SELECT repeat('x', 8000) || number AS text
    FROM generate_series(1, 1000) AS number
    ORDER BY text DESC
    OFFSET 0
) AS sorted
