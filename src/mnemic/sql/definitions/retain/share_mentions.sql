-- Takes the shared lock; returns whether the owner has any entity. A function, because each of its
-- statements sees what was committed before it, and so the second one what the first one waited for.
CREATE OR REPLACE FUNCTION mnemic.share_mentions(wanted_owner text) RETURNS boolean
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(mnemic.mentions_lock(wanted_owner));
    RETURN EXISTS (SELECT FROM state.entity_names WHERE owner = wanted_owner);
END
$$;
