-- stage: before tables
-- Identifies this transaction; no other transaction ever has the same value, because a backend process begins one
-- transaction at a time. Proofs sign it.
CREATE OR REPLACE FUNCTION mnemic.transaction_identity() RETURNS text
LANGUAGE sql STABLE PARALLEL RESTRICTED
RETURN pg_backend_pid() || '@' || (extract(epoch FROM transaction_timestamp()) * 1000000)::bigint;
