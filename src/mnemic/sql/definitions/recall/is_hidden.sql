-- Whether a memory is hidden in the branch that a recall reads (state.hidden_memories): by the branch itself, or by a branch
-- above it at the time as of which that is read.
CREATE OR REPLACE FUNCTION mnemic.is_hidden(
    of_tenant uuid, of_owner text, wanted_id uuid, filter mnemic.recall_filter, as_of timestamptz
)
RETURNS boolean
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM state.hidden_memories AS hidden
        WHERE hidden.tenant_id = of_tenant AND hidden.owner = of_owner AND hidden.memory_id = wanted_id
          AND (hidden.channel = (filter).branch OR hidden.channel = ANY ((filter).past_channels))
          AND coalesce(hidden.hidden_at <= mnemic.known_at(filter, hidden.channel, as_of), true)
          AND coalesce(hidden.shown_at > mnemic.known_at(filter, hidden.channel, as_of), hidden.shown_at IS NULL)
    );
END
$$;
