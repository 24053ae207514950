-- stage: before tables
-- needs: tenancy/first_id_at
-- Whether a memory has an id that is more than an hour younger than the time at which it was first recorded: an import keeps
-- that time and may give new ids. The hour is longer than any transaction that stores memories.
CREATE OR REPLACE FUNCTION mnemic.is_backdated(memory_id uuid, created_at timestamptz) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN memory_id > (
    lpad(to_hex((extract(epoch FROM created_at - timestamptz '1970-01-01 00:00:00+00') * 1000)::bigint + 3600000), 12, '0')
    || '70000000000000000000'
)::uuid;
