-- A filter that reads in a branch and restricts nothing else; all of its fields are NULL if the channel is no open branch.
CREATE OR REPLACE FUNCTION mnemic.branch_filter(of_tenant uuid, of_owner text, in_channel text)
RETURNS mnemic.recall_filter
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN (
        SELECT jsonb_populate_record(NULL::mnemic.recall_filter, to_jsonb(viewed))
        FROM mnemic.branch_view(of_tenant, of_owner, ARRAY[in_channel]) AS viewed
    );
END
$$;
