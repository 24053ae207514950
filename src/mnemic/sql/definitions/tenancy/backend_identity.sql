-- Identifies this backend process; no other living process has the same value, nor one of an earlier start of the
-- server. Signatures of single statements cover it.
CREATE OR REPLACE FUNCTION mnemic.backend_identity() RETURNS text
LANGUAGE sql STABLE PARALLEL RESTRICTED
RETURN pg_backend_pid() || '@' || (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint;
