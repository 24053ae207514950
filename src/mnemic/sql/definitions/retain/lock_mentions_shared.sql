-- Shares an owner's mentions lock; returns whether the owner has any entity. In PL/pgSQL each statement sees what
-- was committed before it, so the second one sees what the first one waited for.
CREATE OR REPLACE FUNCTION mnemic.lock_mentions_shared(wanted_owner text) RETURNS boolean
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(mnemic.mentions_lock_key(wanted_owner));
    RETURN EXISTS (SELECT FROM state.entity_names WHERE owner = wanted_owner);
END
$$;
