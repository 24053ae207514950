-- Counts an owner's memories and words outside of branches and stores the result, so that dropping a branch leaves none of its
-- words; words in fewer than one of 5,000 memories are left
-- out, those of letters only in fewer than one of 100,000: mnemic.recall_vocabulary needs them. ts_stat takes a query as text, which runs with the caller's privileges and policies.
CREATE OR REPLACE FUNCTION mnemic.refresh_statistics(wanted_owner text) RETURNS int
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    sample_size CONSTANT int := 64;
    counted int;
    mean real;
BEGIN
    PERFORM pg_advisory_xact_lock(
        hashtextextended('mnemic.statistics ' || mnemic.current_tenant() || ' ' || wanted_owner, 0)
    );
    SELECT count(*), coalesce(avg(octet_length(content)), 0) INTO counted, mean
    FROM state.memories WHERE owner = wanted_owner AND branch IS NULL;
    INSERT INTO vectors.owner_statistics (tenant_id, owner, memory_count, mean_bytes, sample)
    VALUES (
        mnemic.current_tenant(), wanted_owner, counted, mean,
        ARRAY(SELECT memory_id FROM state.memories WHERE owner = wanted_owner AND branch IS NULL ORDER BY random() LIMIT sample_size)
    )
    ON CONFLICT (tenant_id, owner) DO UPDATE
    SET memory_count = excluded.memory_count, mean_bytes = excluded.mean_bytes, sample = excluded.sample,
        refreshed_at = now();
    DELETE FROM vectors.word_statistics WHERE owner = wanted_owner;
    INSERT INTO vectors.word_statistics (tenant_id, owner, word, memory_count)
    SELECT mnemic.current_tenant(), wanted_owner, counts.word, counts.ndoc
    FROM ts_stat(format('SELECT words FROM state.memories WHERE owner = %L AND branch IS NULL', wanted_owner)) AS counts
    WHERE counts.ndoc >= counted / 5000.0
      OR (counts.ndoc >= counted / 100000.0 AND counts.word ~ '^[[:alpha:]]{4,31}$');
    RETURN counted;
END
$$;
GRANT EXECUTE ON FUNCTION mnemic.refresh_statistics(text) TO mnemic_app;
