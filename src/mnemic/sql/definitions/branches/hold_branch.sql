-- For writing: the channel, if it is an open branch of the owner, which stays open until the transaction ends; NULL if it is no
-- branch; an error if it was merged.
CREATE OR REPLACE FUNCTION mnemic.hold_branch(of_tenant uuid, of_owner text, in_channel text) RETURNS text
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF mnemic.branch_of(of_tenant, of_owner, in_channel) IS NULL THEN
        RETURN NULL;
    END IF;
    PERFORM FROM state.channel_branches AS forked
    WHERE forked.tenant_id = of_tenant AND forked.owner = of_owner AND forked.channel = in_channel
    FOR SHARE;
    -- A statement of its own: it sees what was committed while the one before waited.
    IF NOT EXISTS (
        SELECT FROM state.branches
        WHERE branches.tenant_id = of_tenant AND branches.owner = of_owner AND branches.channel = in_channel
          AND branches.state = 'open'
    ) THEN
        RAISE invalid_parameter_value USING MESSAGE =
            'the branch was merged or dropped: write to its parent, or undo the merge';
    END IF;
    RETURN in_channel;
END
$$;
