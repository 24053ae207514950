-- Deletes a branch with everything that was stored in it; returns the number of deleted rows per table. Of a merged branch
-- only what was left behind is deleted: the rest belongs to the parent. Runs as mnemic_definer, filters by the verified
-- tenant, and needs a proof of maintenance, like mnemic.erase_owner.
--
-- Tables are found in the catalog, so that a table of a later migration needs no entry here: rows of the branch's memories
-- (by foreign key, or by a column `memory_id`), and rows of the owner with the channel of the branch.
CREATE OR REPLACE FUNCTION mnemic.drop_branch(of_owner text, dropped text) RETURNS TABLE (table_name text, row_count bigint)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    verified_tenant CONSTANT uuid := mnemic.current_tenant();
    is_open boolean;
    ids uuid[];
    owned record;
BEGIN
    IF (mnemic.verified_claim('maintenance') = verified_tenant::text) IS NOT TRUE THEN
        RAISE insufficient_privilege USING MESSAGE = 'dropping a branch needs a proof of maintenance';
    END IF;
    SELECT branches.state = 'open' INTO is_open FROM state.branches
    WHERE branches.tenant_id = verified_tenant AND branches.owner = of_owner AND branches.channel = dropped;
    IF is_open IS NULL THEN
        RETURN;
    END IF;
    ids := ARRAY(
        SELECT memories.memory_id FROM state.memories
        WHERE memories.tenant_id = verified_tenant AND memories.owner = of_owner AND memories.branch = dropped
    );
    -- Children before parents, so that each row is counted in its own table and not deleted by a cascade.
    FOR owned IN
        SELECT found.guarded, found.condition
        FROM (
            SELECT
                tables.guarded, tables.depth,
                concat_ws(
                    ' OR ',
                    (
                        SELECT string_agg(format('child.%I = ANY ($3)', attname), ' OR ')
                        FROM pg_attribute
                        WHERE attrelid = tables.guarded AND NOT attisdropped AND atttypid = 'uuid'::regtype
                          AND attname <> 'tenant_id'
                          AND (attname = 'memory_id' OR EXISTS (
                              SELECT FROM pg_constraint
                              WHERE contype = 'f' AND conrelid = attrelid AND attnum = ANY (conkey)
                                AND confrelid = 'state.memories'::regclass AND confdeltype = 'c'
                          ))
                    ),
                    CASE
                        WHEN tables.guarded IN ('state.memories'::regclass, 'state.memory_versions'::regclass) THEN NULL
                        WHEN NOT is_open AND tables.guarded NOT IN (
                            'state.channel_branches'::regclass, 'state.branch_tombstones'::regclass
                        ) THEN NULL
                        WHEN (
                            SELECT count(*) < 2 FROM pg_attribute
                            WHERE attrelid = tables.guarded AND attname IN ('owner', 'channel') AND NOT attisdropped
                        ) THEN NULL
                        -- Deleting a conversation deletes its turns.
                        WHEN tables.guarded = 'state.conversations'::regclass THEN
                            'child.owner = $1 AND child.channel = $2 AND NOT EXISTS (SELECT FROM state.memories AS turn'
                            ' WHERE turn.tenant_id = $4 AND turn.owner = $1 AND turn.conversation = child.conversation)'
                        ELSE 'child.owner = $1 AND child.channel = $2'
                    END,
                    CASE WHEN tables.guarded IN ('queue.events'::regclass, 'queue.event_inbox'::regclass) THEN
                        'child.owner = $1 AND (child.subject = ANY ($3::text[]) OR child.data ->> ''channel'' = $2'
                        || CASE WHEN is_open THEN ')' ELSE ' AND child.subject = $2)' END
                    END
                ) AS condition
            FROM mnemic.tables_with_owners() AS tables
        ) AS found
        WHERE found.condition <> ''
        ORDER BY found.depth DESC, found.guarded::text
    LOOP
        EXECUTE format('DELETE FROM %s AS child WHERE child.tenant_id = $4 AND (%s)', owned.guarded, owned.condition)
        USING of_owner, dropped, ids, verified_tenant;
        GET DIAGNOSTICS row_count = ROW_COUNT;
        table_name := owned.guarded::text;
        IF row_count > 0 THEN
            RETURN NEXT;
        END IF;
    END LOOP;
END
$$;
CALL mnemic.run_as_definer('mnemic.drop_branch(text, text)');
