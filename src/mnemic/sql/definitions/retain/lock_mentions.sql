-- Takes an owner's mentions lock exclusively; returns false if sharers did not finish within the timeout. A huge
-- import must not block a new entity: the entity then misses links into that import.
CREATE OR REPLACE FUNCTION mnemic.lock_mentions(wanted_owner text) RETURNS boolean
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '1s'
AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(mnemic.mentions_lock_key(wanted_owner));
    RETURN true;
EXCEPTION
    WHEN lock_not_available THEN RETURN false;
END
$$;
