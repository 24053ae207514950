-- @@0008
-- Deletes all that is held about an owner; one row per table with the number of rows that went.
-- @@0020
-- Erasing, as in migration 0009, and by the tenant's id as well as by its policy.
CREATE OR REPLACE FUNCTION mnemic.erase_owner(erased text) RETURNS TABLE (table_name text, row_count bigint)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    verified_tenant CONSTANT uuid := mnemic.current_tenant();
    owned record;
BEGIN
    IF (mnemic.verified('maintenance') = verified_tenant::text) IS NOT TRUE THEN
        RAISE insufficient_privilege USING MESSAGE = 'erasing needs a proof of maintenance';
    END IF;
    -- Children before parents, so that each row is counted where it is and not lost in a cascade.
    FOR owned IN
        SELECT tables.guarded, concat_ws(' OR ', tables.condition, receiver.condition) AS condition
        FROM mnemic.owned_tables() AS tables
        LEFT JOIN LATERAL (
            SELECT 'granted_to = $1' AS condition
            FROM pg_attribute
            WHERE attrelid = tables.guarded AND attname = 'granted_to' AND NOT attisdropped
        ) AS receiver ON true
        ORDER BY tables.depth DESC, tables.guarded::text
    LOOP
        EXECUTE format('DELETE FROM %s AS child WHERE child.tenant_id = $2 AND (%s)', owned.guarded, owned.condition)
        USING erased, verified_tenant;
        GET DIAGNOSTICS row_count = ROW_COUNT;
        table_name := owned.guarded::text;
        RETURN NEXT;
    END LOOP;
END
$$;
CALL mnemic.seal('mnemic.erase_owner(text)');
