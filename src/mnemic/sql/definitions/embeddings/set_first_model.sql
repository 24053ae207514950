-- Records which model serves the tenant if none does yet, and returns it: the model that most of the tenant's
-- vectors have (from before this was recorded), else the wanted one, if any. Memories that have vectors of other
-- models only go to the embedding backlog.
CREATE OR REPLACE FUNCTION mnemic.set_first_model(wanted text, wanted_dimensions int) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    tenant uuid := mnemic.current_tenant();
    adopted text := (SELECT used.model FROM vectors.tenant_models AS used WHERE used.tenant_id = tenant);
    known record;
    most bigint := 0;
    counted bigint;
BEGIN
    IF tenant IS NULL THEN
        RAISE insufficient_privilege USING MESSAGE = 'no tenant was proved';
    END IF;
    IF adopted IS NOT NULL THEN
        RETURN adopted;
    END IF;
    FOR known IN SELECT vector_models.model, vector_models.table_name FROM mnemic.vector_models LOOP
        EXECUTE format('SELECT count(*) FROM vectors.%I WHERE tenant_id = $1', known.table_name) INTO counted USING tenant;
        IF counted > most THEN
            most := counted;
            adopted := known.model;
        END IF;
    END LOOP;
    IF adopted IS NULL AND wanted IS NULL THEN
        RETURN NULL;
    ELSIF adopted IS NULL THEN
        adopted := wanted;
        PERFORM mnemic.open_vector_table(wanted, wanted_dimensions);
    ELSE
        EXECUTE format(
            'INSERT INTO queue.embedding_backlog (tenant_id, memory_id, last_error)'
            ' SELECT lacking.tenant_id, lacking.memory_id, %L FROM state.memories AS lacking'
            ' WHERE lacking.tenant_id = $1 AND NOT EXISTS ('
            '     SELECT FROM vectors.%I AS made WHERE made.tenant_id = $1 AND made.memory_id = lacking.memory_id)'
            ' ON CONFLICT DO NOTHING',
            'it was embedded by another model only',
            (SELECT chosen.table_name FROM mnemic.vector_models AS chosen WHERE chosen.model = adopted)
        ) USING tenant;
    END IF;
    INSERT INTO vectors.tenant_models (tenant_id, model) VALUES (tenant, adopted) ON CONFLICT DO NOTHING;
    RETURN (SELECT used.model FROM vectors.tenant_models AS used WHERE used.tenant_id = tenant);
END
$$;
CALL mnemic.run_as_definer('mnemic.set_first_model(text, int)');
