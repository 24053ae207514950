-- The lexical score of a memory: BM25 without term frequency, K1 = 2 and B = 0.5. `weight` is the sum of the weights
-- (mnemic.term_weight) of the query's terms that the memory has. src/mnemic/recall/lexical_score.py has the same
-- formula; a test compares them. Inlined into the queries that call it.
CREATE OR REPLACE FUNCTION mnemic.lexical_score(weight float8, bytes float8, mean_bytes float8) RETURNS float8
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN weight * (1 + 2) / (1 + 2 * (1 - 0.5 + 0.5 * bytes / greatest(mean_bytes, 1)));
