-- Makes the next model the serving one, for everybody at once when this commits, if at most `lacking_most`
-- memories lack its vectors. Memories without a vector go to the embedding backlog, refused ones as given up;
-- memories that have one now leave it. Returns whether it switched.
CREATE OR REPLACE FUNCTION mnemic.switch_model(wanted text, lacking_most int) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    tenant uuid := mnemic.current_tenant();
BEGIN
    PERFORM mnemic.lock_model();
    IF NOT EXISTS (
        SELECT FROM vectors.tenant_models AS used
        WHERE used.tenant_id = tenant AND used.next_model = wanted AND used.is_listed
    ) OR (
        SELECT count(*) FROM (
            SELECT FROM queue.reembedding AS listed
            WHERE listed.tenant_id = tenant AND listed.gave_up_at IS NULL
            LIMIT lacking_most + 1
        ) AS lacking
    ) > lacking_most THEN
        RETURN false;
    END IF;
    EXECUTE format(
        'DELETE FROM queue.embedding_backlog AS waiting USING vectors.%I AS made'
        ' WHERE waiting.tenant_id = $1 AND made.tenant_id = $1 AND made.memory_id = waiting.memory_id',
        (SELECT known.table_name FROM mnemic.vector_models AS known WHERE known.model = wanted)
    ) USING tenant;
    INSERT INTO queue.embedding_backlog (tenant_id, memory_id, last_error, attempts, gave_up_at)
    SELECT
        listed.tenant_id, listed.memory_id, coalesce(listed.last_error, 'the embedding model was changed'),
        listed.attempts, listed.gave_up_at
    FROM queue.reembedding AS listed
    WHERE listed.tenant_id = tenant
    ON CONFLICT DO NOTHING;
    DELETE FROM queue.reembedding AS listed WHERE listed.tenant_id = tenant;
    UPDATE vectors.tenant_models AS used
    SET model = wanted, next_model = NULL, is_listed = false, switched_at = now()
    WHERE used.tenant_id = tenant;
    RETURN true;
END
$$;
CALL mnemic.run_as_definer('mnemic.switch_model(text, int)');
