-- stage: before tables
-- The schedules that every new tenant gets, each once a day at a time derived from the tenant, so that tenants do
-- not all run at once. The tenant may change, pause or delete them.
CREATE OR REPLACE FUNCTION mnemic.default_schedules(born uuid)
RETURNS TABLE (name text, job_type text, every_s int, next_run_at timestamptz)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT
        first.name, first.job_type, 86400,
        now() + make_interval(secs => 3600 + abs(hashtextextended(first.name || born, 0) % 82800))
    FROM (VALUES
        ('cleanup', 'maintenance.cleanup'),
        ('embedding backlog', 'embeddings.backlog'),
        ('log days', 'maintenance.log_days'),
        ('pruning', 'maintenance.prune'),
        ('snapshots', 'maintenance.snapshots')
    ) AS first (name, job_type);
END;
GRANT EXECUTE ON FUNCTION mnemic.default_schedules(uuid) TO mnemic_definer;
