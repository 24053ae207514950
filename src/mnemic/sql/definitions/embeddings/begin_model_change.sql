-- Begins to change the tenant's model, or changes where that leads. The model that serves anyway means that
-- nothing is to be changed any more. Returns whether there is something to do. The model's table is made before, in
-- another transaction: making it waits for writers, who hold the tenant's lock.
CREATE OR REPLACE FUNCTION mnemic.begin_model_change(wanted text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    tenant uuid := mnemic.current_tenant();
    serving text;
    next_one text;
BEGIN
    -- So that nobody drops its table meanwhile.
    PERFORM pg_advisory_xact_lock(hashtext('mnemic.vector_models'));
    IF NOT EXISTS (SELECT FROM mnemic.vector_models AS known WHERE known.model = wanted) THEN
        RAISE EXCEPTION 'the model has no table yet';
    END IF;
    serving := mnemic.adopt_model(wanted, NULL);
    next_one := (SELECT used.next_model FROM vectors.tenant_models AS used WHERE used.tenant_id = tenant);
    IF serving = wanted AND next_one IS NULL OR next_one = wanted THEN
        RETURN next_one IS NOT NULL;
    END IF;
    PERFORM mnemic.hold_model();
    DELETE FROM queue.reembedding WHERE reembedding.tenant_id = tenant;
    UPDATE vectors.tenant_models AS used
    SET next_model = nullif(wanted, used.model), is_listed = false, started_at = now()
    WHERE used.tenant_id = tenant;
    RETURN (SELECT used.next_model IS NOT NULL FROM vectors.tenant_models AS used WHERE used.tenant_id = tenant);
END
$$;
CALL mnemic.seal('mnemic.begin_model_change(text)');
