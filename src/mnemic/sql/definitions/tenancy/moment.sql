-- stage: before tables
-- Which transaction this is, in words that no other transaction ever shares: one server process
-- begins one transaction at a time.
CREATE OR REPLACE FUNCTION mnemic.moment() RETURNS text
LANGUAGE sql STABLE PARALLEL RESTRICTED
RETURN pg_backend_pid() || '@' || (extract(epoch FROM transaction_timestamp()) * 1000000)::bigint;
