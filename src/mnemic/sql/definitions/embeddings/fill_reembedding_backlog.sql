-- Fills queue.reembedding with all memories that existed before writers began to add theirs.
CREATE OR REPLACE FUNCTION mnemic.fill_reembedding_backlog(wanted text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    tenant uuid := mnemic.current_tenant();
BEGIN
    PERFORM FROM vectors.tenant_models AS used
    WHERE used.tenant_id = tenant AND used.next_model = wanted AND NOT used.is_listed
    FOR UPDATE;
    IF FOUND THEN
        INSERT INTO queue.reembedding (tenant_id, memory_id)
        SELECT memories.tenant_id, memories.memory_id FROM state.memories WHERE memories.tenant_id = tenant
        ON CONFLICT DO NOTHING;
        UPDATE vectors.tenant_models AS used SET is_listed = true WHERE used.tenant_id = tenant;
    END IF;
END
$$;
CALL mnemic.run_as_definer('mnemic.fill_reembedding_backlog(text)');
