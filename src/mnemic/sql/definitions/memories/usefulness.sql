-- The usefulness of a memory: the share of conversations in which it was useful, as the mean of a beta distribution. The
-- stored usefulness (0.5) counts as four conversations, so that a few verdicts do not decide. From 0 to 1. A single
-- expression, so that it is inlined.
CREATE OR REPLACE FUNCTION mnemic.usefulness(base real, useful_count int, not_useful_count int) RETURNS real
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (
    (4 * base::float8 + coalesce(useful_count, 0))
    / (4::float8 + coalesce(useful_count, 0) + coalesce(not_useful_count, 0))
)::real;
GRANT EXECUTE ON FUNCTION mnemic.usefulness(real, int, int) TO mnemic_app, mnemic_definer;
