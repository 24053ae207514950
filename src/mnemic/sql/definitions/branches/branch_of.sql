-- The channel, if it is a branch of the owner; else NULL. `_global` is never one, so that most calls read nothing here.
CREATE OR REPLACE FUNCTION mnemic.branch_of(of_tenant uuid, of_owner text, in_channel text) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF in_channel = '_global' THEN
        RETURN NULL;
    END IF;
    RETURN (
        SELECT forked.channel FROM state.channel_branches AS forked
        WHERE forked.tenant_id = of_tenant AND forked.owner = of_owner AND forked.channel = in_channel
    );
END
$$;
