-- Takes the lock alone; returns false if those who share it did not finish within the time limit. A huge
-- import must not keep a new entity waiting: it may miss links into that import, no more.
CREATE OR REPLACE FUNCTION mnemic.hold_mentions(wanted_owner text) RETURNS boolean
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '1s'
AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(mnemic.mentions_lock(wanted_owner));
    RETURN true;
EXCEPTION
    WHEN lock_not_available THEN RETURN false;
END
$$;
