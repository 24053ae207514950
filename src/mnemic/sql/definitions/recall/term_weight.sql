-- The weight of a query's term in the lexical score: BM25's inverse document frequency, for a term that
-- `memory_count` of an owner's `memory_total` memories have. src/mnemic/recall/lexical_score.py has the same
-- formula; a test compares them. Inlined into the queries that call it.
CREATE OR REPLACE FUNCTION mnemic.term_weight(memory_count float8, memory_total float8) RETURNS float8
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ln(1 + (greatest(memory_total - memory_count, 0) + 0.5) / (memory_count + 0.5));
