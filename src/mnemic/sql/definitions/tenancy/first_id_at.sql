-- stage: before tables
-- The smallest id that mnemic.new_id makes at a time, to the millisecond. Immutable and of one expression, so that it is
-- inlined and an index can use it.
CREATE OR REPLACE FUNCTION mnemic.first_id_at(moment timestamptz) RETURNS uuid
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (
    lpad(to_hex((extract(epoch FROM moment - timestamptz '1970-01-01 00:00:00+00') * 1000)::bigint), 12, '0')
    || '70000000000000000000'
)::uuid;
