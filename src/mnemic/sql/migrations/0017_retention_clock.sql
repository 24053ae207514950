-- The clock by which old rows are deleted; see definitions/retention/retention_time.sql for its states. It belongs to no
-- tenant, so the table is in the schema `mnemic`, and the application reaches it only through a function.
CREATE TABLE mnemic.retention_clock (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    -- Up to where time has passed for retention, when the server's clock showed `seen_at`.
    retention_time timestamptz NOT NULL,
    seen_at timestamptz NOT NULL,
    -- How long the server's clock has been watched since it jumped; NULL while it is trusted.
    observed interval
);
COMMENT ON TABLE mnemic.retention_clock IS 'Time as far as it has passed for the deletion of old rows.';
GRANT SELECT, INSERT, UPDATE ON mnemic.retention_clock TO mnemic_definer;
