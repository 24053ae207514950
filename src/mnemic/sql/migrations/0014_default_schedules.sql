-- Which default schedules a tenant has been given. Features declare them in Python, and a tenant gets those that it
-- lacks when it is opened (schedules.give_defaults). One that the tenant deletes stays listed here, so it does not
-- come back.

ALTER TABLE state.tenants ADD COLUMN default_schedules text[] NOT NULL DEFAULT '{}';
ALTER TABLE state.tenants ALTER COLUMN default_schedules SET STATISTICS 0;
GRANT UPDATE (default_schedules) ON state.tenants TO mnemic_app;

-- Tenants from before this migration were given these five when they were made.
ALTER TABLE state.tenants NO FORCE ROW LEVEL SECURITY;
UPDATE state.tenants
SET default_schedules = '{cleanup,"embedding backlog","log days",pruning,snapshots}'
WHERE created_at < now();
ALTER TABLE state.tenants FORCE ROW LEVEL SECURITY;
