-- @@0005
-- Mentions. Whoever stores memories looks for known names in them; whoever brings a new name looks for
-- it in the memories there are. Neither sees what the other has not committed, so they take turns: the
-- former share a lock of the owner, the latter need it alone.
-- @@0023
-- The lock of an owner's mentions, as in migration 0005, but without verifying the tenant: who lies about it locks
-- nothing that he reads.
CREATE OR REPLACE FUNCTION mnemic.mentions_lock(wanted_owner text) RETURNS bigint
LANGUAGE sql STABLE
RETURN hashtextextended(
    'mnemic.mentions ' || coalesce(current_setting('mnemic.tenant', true), '') || ' ' || wanted_owner, 0
);
