-- Sharing between owners. A grant lets one owner (`granted_to`) recall memories of another (`owner`)
-- within its scope: every part of the scope that is NULL leaves that part open. A grant is *active* until
-- it expires or is revoked, and then *ended* for good. It is never changed otherwise and never deleted,
-- except when one of the two owners is erased.

CREATE TABLE state.grants (
    tenant_id uuid NOT NULL REFERENCES state.tenants,
    grant_id uuid NOT NULL DEFAULT mnemic.new_id(),
    owner text NOT NULL CHECK (char_length(owner) BETWEEN 1 AND 256),
    granted_to text NOT NULL CHECK (char_length(granted_to) BETWEEN 1 AND 256),
    channel text CHECK (char_length(channel) BETWEEN 1 AND 256),
    categories text[] CHECK (
        cardinality(categories) BETWEEN 1 AND 7 AND categories <@ ARRAY[
            'factual', 'preference', 'behavioral', 'episodic', 'procedural', 'reference', 'prospective'
        ]
    ),
    tags text[] CHECK (cardinality(tags) BETWEEN 1 AND 64 AND mnemic.are_tags(tags)),
    conversation text CHECK (char_length(conversation) BETWEEN 1 AND 256),
    expires_at timestamptz,
    process text NOT NULL CHECK (char_length(process) BETWEEN 1 AND 256),
    reason text CHECK (char_length(reason) BETWEEN 1 AND 1024),
    created_at timestamptz NOT NULL DEFAULT now(),
    revoked_at timestamptz,
    revoking_reason text CHECK (char_length(revoking_reason) BETWEEN 1 AND 1024),
    PRIMARY KEY (tenant_id, grant_id),
    CONSTRAINT between_two_owners CHECK (owner <> granted_to),
    CONSTRAINT expires_after_it_begins CHECK (expires_at > created_at),
    CONSTRAINT reasons_come_with_the_revocation CHECK (revoking_reason IS NULL OR revoked_at IS NOT NULL)
);
COMMENT ON TABLE state.grants IS 'Who may recall whose memories, within which scope and until when.';
-- For recall, which asks it in every call: whose memories may this owner read now?
CREATE INDEX grants_readable ON state.grants (tenant_id, granted_to) WHERE revoked_at IS NULL;
CREATE INDEX grants_given ON state.grants (tenant_id, owner, created_at DESC, grant_id DESC);
CREATE INDEX grants_received ON state.grants (tenant_id, granted_to, created_at DESC, grant_id DESC);
CALL mnemic.protect('state.grants', 'SELECT, INSERT');
GRANT UPDATE (revoked_at, revoking_reason) ON state.grants TO mnemic_app;

-- The right to set `revoked_at` would also be one to clear it.
CREATE FUNCTION mnemic.refuse_reviving() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RAISE check_violation USING MESSAGE = 'a revoked grant stays as it is';
END
$$;
CREATE TRIGGER refuse_reviving BEFORE UPDATE ON state.grants FOR EACH ROW
WHEN (OLD.revoked_at IS NOT NULL)
EXECUTE FUNCTION mnemic.refuse_reviving();

-- An import brings grants as history only. Whoever has the name of the reader in this tenant may be
-- somebody else, or the grant may have been revoked since the export: the giver grants anew. Imports are
-- what runs as mnemic_definer; restoring a backup does not, and keeps grants as they were.
CREATE FUNCTION mnemic.end_imported_grant() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    NEW.revoked_at := now();
    NEW.revoking_reason := 'imported';
    RETURN NEW;
END
$$;
CREATE TRIGGER end_imported_grant BEFORE INSERT ON state.grants FOR EACH ROW
WHEN (NEW.revoked_at IS NULL AND current_user = 'mnemic_definer')
EXECUTE FUNCTION mnemic.end_imported_grant();

-- Erasing, as in migration 0008, and now also by the column `granted_to`, which names an owner as `owner`
-- does: a grant goes with either of the two. Exports still go by `owner`: a grant is its giver's. Dropped and
-- made anew, since the migrator owns the schema, but not the function, which belongs to mnemic_definer.
DROP FUNCTION mnemic.erase_owner(text);
CREATE FUNCTION mnemic.erase_owner(erased text) RETURNS TABLE (table_name text, row_count bigint)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    owned record;
BEGIN
    IF (mnemic.verified('maintenance') = mnemic.current_tenant()::text) IS NOT TRUE THEN
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
        EXECUTE format('DELETE FROM %s AS child WHERE %s', owned.guarded, owned.condition) USING erased;
        GET DIAGNOSTICS row_count = ROW_COUNT;
        table_name := owned.guarded::text;
        RETURN NEXT;
    END LOOP;
END
$$;
CALL mnemic.seal('mnemic.erase_owner(text)');
