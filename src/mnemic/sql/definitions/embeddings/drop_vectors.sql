-- Drops the table of a model that serves no tenant and holds no vectors; returns whether it is gone. Row-level
-- security is lifted for the check, in a transaction that nobody else sees: otherwise the vectors of other tenants
-- would be invisible, and lost.
CREATE OR REPLACE FUNCTION mnemic.drop_vectors(unwanted text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    dropped text;
    is_empty boolean;
BEGIN
    IF mnemic.current_tenant() IS NULL THEN
        RAISE insufficient_privilege USING MESSAGE = 'no tenant was proved';
    END IF;
    PERFORM set_config('lock_timeout', '300ms', true);
    PERFORM pg_advisory_xact_lock(hashtext('mnemic.vector_models'));
    SELECT known.table_name INTO dropped FROM mnemic.vector_models AS known WHERE known.model = unwanted;
    IF dropped IS NULL THEN
        RETURN true;
    END IF;
    IF EXISTS (SELECT FROM vectors.tenant_models AS used WHERE unwanted IN (used.model, used.next_model)) THEN
        RETURN false;
    END IF;
    EXECUTE format('ALTER TABLE vectors.%I NO FORCE ROW LEVEL SECURITY', dropped);
    EXECUTE format('SELECT NOT EXISTS (SELECT FROM vectors.%I)', dropped) INTO is_empty;
    IF is_empty THEN
        EXECUTE format('DROP TABLE vectors.%I', dropped);
        DELETE FROM mnemic.vector_models AS known WHERE known.model = unwanted;
    ELSE
        EXECUTE format('ALTER TABLE vectors.%I FORCE ROW LEVEL SECURITY', dropped);
    END IF;
    RETURN is_empty;
END
$$;
CALL mnemic.run_as_definer('mnemic.drop_vectors(text)');
