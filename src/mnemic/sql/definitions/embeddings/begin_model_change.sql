-- Begins changing the tenant's embedding model, or changes the target of a change that has begun. Naming the model
-- that serves already ends the change. Returns whether there is something to do. The caller creates the model's
-- table before, in another transaction: creating it waits for writers, who hold the tenant's model lock.
CREATE OR REPLACE FUNCTION mnemic.begin_model_change(wanted text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    tenant uuid := mnemic.current_tenant();
    serving text;
    next_one text;
BEGIN
    -- Keeps others from dropping its table.
    PERFORM pg_advisory_xact_lock(hashtext('mnemic.vector_models'));
    IF NOT EXISTS (SELECT FROM mnemic.vector_models AS known WHERE known.model = wanted) THEN
        RAISE EXCEPTION 'the model has no table yet';
    END IF;
    serving := mnemic.set_first_model(wanted, NULL);
    next_one := (SELECT used.next_model FROM vectors.tenant_models AS used WHERE used.tenant_id = tenant);
    IF serving = wanted AND next_one IS NULL OR next_one = wanted THEN
        RETURN next_one IS NOT NULL;
    END IF;
    PERFORM mnemic.lock_model();
    DELETE FROM queue.reembedding WHERE reembedding.tenant_id = tenant;
    UPDATE vectors.tenant_models AS used
    SET next_model = nullif(wanted, used.model), is_listed = false, started_at = now()
    WHERE used.tenant_id = tenant;
    RETURN (SELECT used.next_model IS NOT NULL FROM vectors.tenant_models AS used WHERE used.tenant_id = tenant);
END
$$;
CALL mnemic.run_as_definer('mnemic.begin_model_change(text)');
