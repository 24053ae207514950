-- Which server process this is; no other one alive has its number, and none of an earlier start of the server counts.
CREATE OR REPLACE FUNCTION mnemic.process() RETURNS text
LANGUAGE sql STABLE PARALLEL RESTRICTED
RETURN pg_backend_pid() || '@' || (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint;
