-- The salience of an entity at a moment: the stored one falls by 5 % a day since the entity was last changed or a memory that
-- mentions it was stored. Days are whole, and bounded, so that no power underflows.
CREATE OR REPLACE FUNCTION mnemic.entity_salience(
    base real, updated_at timestamptz, last_mentioned_at timestamptz, moment timestamptz
) RETURNS real
LANGUAGE sql STABLE PARALLEL SAFE
RETURN (
    base * power(
        0.95::float8,
        floor(least(1000, greatest(
            0, (date_part('epoch', moment) - date_part('epoch', greatest(updated_at, last_mentioned_at))) / 86400
        )))
    )
)::real;
GRANT EXECUTE ON FUNCTION mnemic.entity_salience(real, timestamptz, timestamptz, timestamptz) TO mnemic_app, mnemic_definer;
