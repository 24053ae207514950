-- Deletes all rows of an owner, all grants to it, and what members of groups recorded about its grants; returns the number of deleted rows per table. Runs as
-- mnemic_definer, filters by the verified tenant, and needs a proof of maintenance: injected SQL in an ordinary
-- transaction cannot erase anything.
CREATE OR REPLACE FUNCTION mnemic.erase_owner(erased text) RETURNS TABLE (table_name text, row_count bigint)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    verified_tenant CONSTANT uuid := mnemic.current_tenant();
    owned record;
BEGIN
    IF (mnemic.verified_claim('maintenance') = verified_tenant::text) IS NOT TRUE THEN
        RAISE insufficient_privilege USING MESSAGE = 'erasing needs a proof of maintenance';
    END IF;
    -- Children before parents, so that each row is counted in its own table and not deleted by a cascade.
    FOR owned IN
        SELECT tables.guarded, concat_ws(' OR ', tables.condition, receiver.condition, dropped.condition) AS condition
        FROM mnemic.tables_with_owners() AS tables
        LEFT JOIN LATERAL (
            SELECT 'granted_to = $1' AS condition
            FROM pg_attribute
            WHERE attrelid = tables.guarded AND attname = 'granted_to' AND NOT attisdropped
        ) AS receiver ON true
        -- These rows belong to the members and have no foreign key, since members export them without the grants.
        LEFT JOIN (
            VALUES (
                'state.dropped_group_grants'::regclass,
                'EXISTS (SELECT FROM state.grants AS given'
                ' WHERE given.tenant_id = $2 AND given.grant_id = child.grant_id AND given.owner = $1)'
            )
        ) AS dropped (guarded, condition) ON dropped.guarded = tables.guarded
        -- Transcripts before sessions, whose trigger deletes them, too: the receipt counts every row once.
        ORDER BY dropped.guarded IS NULL, tables.depth DESC,
            tables.guarded <> 'state.context_transcripts'::regclass, tables.guarded::text
    LOOP
        EXECUTE format('DELETE FROM %s AS child WHERE child.tenant_id = $2 AND (%s)', owned.guarded, owned.condition)
        USING erased, verified_tenant;
        GET DIAGNOSTICS row_count = ROW_COUNT;
        table_name := owned.guarded::text;
        RETURN NEXT;
    END LOOP;
END
$$;
CALL mnemic.run_as_definer('mnemic.erase_owner(text)');
