-- Vector search: the nearest memories (mnemic.nearest_vectors), or `near` if the caller has found them, with their
-- features. Without a query embedding it searches nothing. If another model serves than the one that made the
-- embedding, it only returns that `model`.
CREATE OR REPLACE FUNCTION mnemic.recall_by_vector(
    of_tenant uuid, wanted_owner text, by_model text, vector_table text, wanted anyelement, near uuid[], index_name text,
    ef_search int, most int,
    OUT model text, OUT near_ids uuid[], OUT near_cosines real[], OUT mean float8, OUT deviation float8,
    OUT row_count bigint, OUT near_ms float8
)
LANGUAGE plpgsql STABLE
AS $$
BEGIN
    near_ids := near;
    SELECT used.model INTO model FROM vectors.tenant_models AS used;
    IF near_ids IS NULL AND wanted IS NOT NULL AND model = by_model THEN
        SELECT found.memory_ids, found.cosines, found.mean, found.deviation, found.row_count
        INTO near_ids, near_cosines, mean, deviation, row_count
        FROM mnemic.nearest_vectors(of_tenant, wanted_owner, vector_table, wanted, index_name, ef_search, most) AS found;
    END IF;
    near_ids := coalesce(near_ids, '{}');
    near_ms := extract(epoch FROM clock_timestamp() - statement_timestamp()) * 1000;
END
$$;
