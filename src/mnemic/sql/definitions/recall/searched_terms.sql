-- Which terms of a query the lexical search looks for: tsqueries, their weights, and which terms each stands for (bit n of
-- `term_bits` for term n). Without `counts` every term; the search then weighs them by what it finds. With `counts`, from word
-- statistics (NULL for a term that these leave out, which is rare), the rarest terms until enough matches are expected. Where even
-- the rarest one is too frequent, it looks for memories that have several of the terms, and for nothing if even those are nearly all.
--
-- A tenth of the memories is as good as more: of LoCoMo's answers among 7,000 other turns .774 were among the first ten with
-- 1,000 matches, .773 with 3,000, .769 with 600; among 30,000 others .75 with 1,000, .77 with 2,000. Of many memories a smaller
-- share is searched, for which each costs more, so that searches take about the same time.
CREATE OR REPLACE FUNCTION mnemic.searched_terms(
    terms text[], counts int[], certainties float8[], memory_count int,
    OUT searched text[], OUT term_bits bigint[], OUT weights real[]
)
LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    -- Statistics leave out numbers and codes in a smaller share of the memories; these are taken to be this rare.
    rare_count CONSTANT float8 := greatest(1, 0.0002 * memory_count);
    matches_min CONSTANT float8 := 1000;
    enough CONSTANT float8 := greatest(
        matches_min, least(0.1 * memory_count, matches_min * sqrt(100000::float8 / greatest(memory_count, 1)))
    );
    -- Search for up to this many times as many if even the rarest term has more than enough.
    excess CONSTANT float8 := 2.5;
    joined_max CONSTANT int := 4;
    sorted_weights float8[];
    sorted_counts float8[];
    chosen int;
    expected float8;
BEGIN
    IF counts IS NULL THEN
        searched := terms;
        term_bits := ARRAY(
            SELECT 1::bigint << (place - 1) FROM generate_subscripts(terms, 1) AS place ORDER BY place
        );
        RETURN;
    END IF;
    SELECT
        coalesce(array_agg(rarest.term ORDER BY rarest.rank), '{}'),
        coalesce(array_agg(1::bigint << (rarest.place - 1) ORDER BY rarest.rank), '{}'),
        array_agg(mnemic.term_weight(rarest.count, memory_count) * rarest.certainty ORDER BY rarest.rank),
        array_agg(rarest.count ORDER BY rarest.rank),
        count(*) FILTER (WHERE rarest.is_chosen), max(rarest.expected) FILTER (WHERE rarest.is_chosen)
    INTO searched, term_bits, sorted_weights, sorted_counts, chosen, expected
    FROM (
        SELECT summed.*, summed.rank = 1 OR summed.expected <= enough AS is_chosen
        FROM (
            SELECT
                given.term, given.place::int AS place, given.certainty, known.count,
                sum(known.count) OVER by_rarity AS expected, row_number() OVER by_rarity AS rank
            FROM unnest(terms, counts, certainties) WITH ORDINALITY AS given (term, count, certainty, place)
            CROSS JOIN LATERAL (SELECT coalesce(given.count, rare_count) AS count) AS known
            WINDOW by_rarity AS (ORDER BY known.count, given.place)
        ) AS summed
    ) AS rarest;
    IF searched = '{}' OR expected <= enough * excess THEN
        searched := searched[:chosen];
        term_bits := term_bits[:chosen];
        weights := sorted_weights[:chosen]::real[];
        RETURN;
    END IF;
    expected := memory_count;
    chosen := 0;
    WHILE chosen < least(joined_max, cardinality(searched)) AND expected > enough LOOP
        chosen := chosen + 1;
        expected := expected * sorted_counts[chosen] / memory_count;
    END LOOP;
    IF expected > enough * excess THEN
        searched := '{}';
        term_bits := '{}';
        RETURN;
    END IF;
    searched := ARRAY[array_to_string(searched[:chosen], ' & ')];
    weights := ARRAY[(SELECT sum(weight) FROM unnest(sorted_weights[:chosen]) AS given (weight))]::real[];
    term_bits := ARRAY[(SELECT bit_or(bits) FROM unnest(term_bits[:chosen]) AS given (bits))];
END
$$;
