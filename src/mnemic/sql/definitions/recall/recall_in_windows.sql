-- Candidates by time: of the newest `window_max` memories of each window (from `since` on, before `until`) the `most` nearest
-- to a vector, or without one the newest. For the reader of a grant (`granted`) only those that the grant covers.
CREATE OR REPLACE FUNCTION mnemic.recall_in_windows(
    of_tenant uuid, wanted_owner text, filter mnemic.recall_filter, granted mnemic.recall_filter, since timestamptz[],
    until timestamptz[], window_max int, vector_table text, wanted anyelement, most int,
    OUT time_ids uuid[], OUT time_ms float8
)
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    began timestamptz := clock_timestamp();
    narrowed mnemic.recall_filter := filter;
    found_ids uuid[];
BEGIN
    time_ids := '{}';
    FOR place IN 1 .. cardinality(since) LOOP
        narrowed.since := greatest((filter).since, since[place]);
        narrowed.until := least((filter).until, until[place]);
        IF (granted).statuses IS NOT NULL THEN
            found_ids := ARRAY(
                SELECT found.memory_id
                FROM mnemic.granted_memories(of_tenant, wanted_owner, narrowed, granted, NULL) AS found
                ORDER BY found.happened_at DESC, found.memory_id DESC
                LIMIT window_max
            );
        ELSIF num_nonnulls((filter).tags, (filter).any_tags, (filter).metadata, (filter).conversation, (filter).branch) > 0
        THEN
            found_ids := ARRAY(SELECT mnemic.filtered_candidates(wanted_owner, narrowed, window_max));
        ELSE
            found_ids := mnemic.memories_in_window(wanted_owner, narrowed, window_max);
        END IF;
        time_ids := time_ids || found_ids;
    END LOOP;
    IF cardinality(since) > 1 THEN
        time_ids := ARRAY(
            SELECT listed.memory_id FROM unnest(time_ids) WITH ORDINALITY AS listed (memory_id, place)
            GROUP BY listed.memory_id ORDER BY min(listed.place)
        );
    END IF;
    IF wanted IS NULL THEN
        time_ids := time_ids[:most];
    ELSIF time_ids <> '{}' THEN
        -- LATERAL and OFFSET 0 force one primary key lookup per memory, whatever the planner estimates.
        EXECUTE format(
            'SELECT ARRAY('
            '   SELECT given.memory_id FROM unnest($1) AS given (memory_id)'
            '   CROSS JOIN LATERAL (SELECT embedding <=> $2 AS distance FROM vectors.%I AS stored'
            '     WHERE stored.tenant_id = $3 AND stored.memory_id = given.memory_id OFFSET 0) AS found'
            '   ORDER BY found.distance, given.memory_id LIMIT $4'
            ' )',
            vector_table
        )
        INTO time_ids USING time_ids, wanted, of_tenant, most;
    END IF;
    time_ms := extract(epoch FROM clock_timestamp() - began) * 1000;
END
$$;
