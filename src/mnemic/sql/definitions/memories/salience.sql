-- The salience of a memory at a moment, from 0 to 1: strength * frequency * decay. This is the only place that computes it
-- (docs/concepts/salience.md). It is computed when a memory is read, so nothing rewrites rows as time passes.
--
-- strength: the stored salience; each useful conversation takes a fifth of what is missing to 1, each useless one a fifth of
-- all. frequency: a memory that was recalled often gains a little, at most a quarter: recalled is not useful. decay: a power
-- of the days without use. Facts decay seven times as slowly as others; turns, events and anchored memories do not decay.
-- Use is storing or useful feedback; a recall cancels half of the time that has passed until then.
--
-- Days are whole, so that the salience is constant for a day. Times are subtracted as numbers, which cannot fail, and counts
-- are bounded, so that no power underflows. Most memories have neither feedback nor recalls, which costs nothing. A single expression, so that it is inlined: it runs for every candidate.
CREATE OR REPLACE FUNCTION mnemic.salience(
    base real, category text, conversation text, anchored boolean, created_at timestamptz,
    retrieval_count int, last_retrieved_at timestamptz, useful_count int, not_useful_count int,
    last_useful_at timestamptz, moment timestamptz
) RETURNS real
LANGUAGE sql STABLE PARALLEL SAFE
RETURN least(
    1,
    CASE
        WHEN useful_count IS NULL THEN base
        ELSE (1 - (1 - base) * power(0.8::float8, least(useful_count, 50)))
            * power(0.8::float8, least(coalesce(not_useful_count, 0), 50))
    END
    * CASE
        WHEN retrieval_count > 0 THEN least(1.25::float8, 1 + 0.05::float8 * ln(1 + retrieval_count::float8))
        ELSE 1
    END
    * CASE
        WHEN anchored OR conversation IS NOT NULL OR category = 'episodic' THEN 1
        ELSE power(
            1 + 19::float8 / 81 / CASE category WHEN 'factual' THEN 210 ELSE 30 END * floor(greatest(
                0,
                date_part('epoch', moment) - date_part('epoch', greatest(created_at, last_useful_at))
                - CASE
                    WHEN last_retrieved_at > greatest(created_at, last_useful_at)
                    THEN 0.5 * (
                        date_part('epoch', last_retrieved_at) - date_part('epoch', greatest(created_at, last_useful_at))
                    )
                    ELSE 0
                END
            ) / 86400),
            -0.5::float8
        )
    END
)::real;
GRANT EXECUTE ON FUNCTION mnemic.salience(
    real, text, text, boolean, timestamptz, int, timestamptz, int, int, timestamptz, timestamptz
) TO mnemic_app, mnemic_definer;
