-- stage: before tables
-- @@0001
-- UUIDv7 (RFC 9562): sorts by time of birth. PostgreSQL has its own from version 18 on.
-- @@0021
-- Ids that were made one after the other sort that way, also within a millisecond: the twelve bits behind it are its
-- fraction, as in `mnemic.types.identity`. Before, they were drawn by lot, and the millisecond was rounded.
--
-- 512 / 125 of the microseconds are the milliseconds, shifted by twelve bits, and the fraction in them; as fifteen hex
-- digits, with the version put in between. One expression with one look at the clock, so that it is inlined.
CREATE OR REPLACE FUNCTION mnemic.new_id() RETURNS uuid
LANGUAGE sql VOLATILE PARALLEL SAFE
RETURN (
    overlay(
        lpad(to_hex((extract(epoch FROM clock_timestamp()) * 1000000)::bigint * 512 / 125), 15, '0')
        PLACING '7' FROM 13 FOR 0
    )
    || substring(encode(uuid_send(gen_random_uuid()), 'hex') FROM 17)
)::uuid;
