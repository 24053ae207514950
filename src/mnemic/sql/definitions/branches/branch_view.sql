-- How to read in channels of which one is an open branch (mnemic.recall_filter): the branch, and its parent with the
-- parent's parents, each with the time as of which it is read. NULLs if none of the channels is an open branch.
CREATE OR REPLACE FUNCTION mnemic.branch_view(
    of_tenant uuid, of_owner text, in_channels text[],
    OUT branch text, OUT past_channels text[], OUT past_times timestamptz[]
)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    -- More than a fork allows; bounds a circle in an imported file.
    depth_most CONSTANT int := 16;
    opened text[];
BEGIN
    IF in_channels = '{}' THEN
        RETURN;
    END IF;
    opened := ARRAY(
        SELECT known.channel FROM state.branches AS known
        WHERE known.tenant_id = of_tenant AND known.owner = of_owner AND known.channel = ANY (in_channels)
          AND known.state = 'open'
    );
    IF cardinality(opened) = 0 THEN
        RETURN;
    ELSIF cardinality(opened) > 1 THEN
        RAISE invalid_parameter_value USING MESSAGE = 'only one branch can be read at a time: name one channel';
    END IF;
    branch := opened[1];
    WITH RECURSIVE above (channel, known_at, depth) AS (
        SELECT forked.parent, forked.forked_at, 1
        FROM state.channel_branches AS forked
        WHERE forked.tenant_id = of_tenant AND forked.owner = of_owner AND forked.channel = branch
        UNION ALL
        SELECT forked.parent, least(above.known_at, forked.forked_at), above.depth + 1
        FROM above
        JOIN state.channel_branches AS forked
            ON forked.tenant_id = of_tenant AND forked.owner = of_owner AND forked.channel = above.channel
        WHERE above.depth < depth_most
    )
    SELECT array_agg(above.channel ORDER BY above.depth), array_agg(above.known_at ORDER BY above.depth)
    INTO past_channels, past_times
    FROM above;
END
$$;
