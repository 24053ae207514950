-- The key of an owner's mentions lock. Storing memories searches them for known names; a new name is searched for
-- in existing memories. Neither sees what the other has not committed, so writers of memories share this lock and
-- writers of names take it exclusively. The tenant need not be verified: a false claim locks nothing that the
-- caller can read.
CREATE OR REPLACE FUNCTION mnemic.mentions_lock_key(wanted_owner text) RETURNS bigint
LANGUAGE sql STABLE
RETURN hashtextextended(
    'mnemic.mentions ' || coalesce(current_setting('mnemic.tenant', true), '') || ' ' || wanted_owner, 0
);
