-- stage: before tables
-- UUIDv7 (RFC 9562): sorts by creation time, also within a millisecond. The twelve bits after the milliseconds are
-- their fraction, as in `mnemic.types.identity`. Multiplying the microseconds by 512 / 125 gives the milliseconds
-- shifted by twelve bits plus the fraction; as fifteen hex digits, with the version inserted. One expression with
-- one reading of the clock, so that it is inlined.
CREATE OR REPLACE FUNCTION mnemic.new_id() RETURNS uuid
LANGUAGE sql VOLATILE PARALLEL SAFE
RETURN (
    overlay(
        lpad(to_hex((extract(epoch FROM clock_timestamp()) * 1000000)::bigint * 512 / 125), 15, '0')
        PLACING '7' FROM 13 FOR 0
    )
    || substring(encode(uuid_send(gen_random_uuid()), 'hex') FROM 17)
)::uuid;
