-- Grants need the reader's consent, and an administrator can grant to a group.

-- A grant to an owner is *offered* until the reader accepts it (`accepted_at`), or the tenant's policy does. It is then
-- *active* until it *expires*, its giver revokes it, or its reader drops it (`dropped_at`). A grant to a group has
-- `granted_to_group` instead of `granted_to`, and needs no acceptance: an administrator gave it.
ALTER TABLE state.grants
    ADD COLUMN accepted_at timestamptz,
    ADD COLUMN dropped_at timestamptz,
    ADD COLUMN granted_to_group text CHECK (char_length(granted_to_group) BETWEEN 1 AND 256),
    ALTER COLUMN granted_to DROP NOT NULL;
ALTER TABLE state.grants ALTER COLUMN granted_to_group SET STATISTICS 0;

-- Grants from before this migration stay in effect. A revoked one cannot be changed, and needs no acceptance.
ALTER TABLE state.grants NO FORCE ROW LEVEL SECURITY;
UPDATE state.grants SET accepted_at = created_at WHERE revoked_at IS NULL;
ALTER TABLE state.grants FORCE ROW LEVEL SECURITY;

ALTER TABLE state.grants
    ADD CONSTRAINT one_kind_of_reader CHECK (num_nonnulls(granted_to, granted_to_group) = 1),
    ADD CONSTRAINT groups_accept_at_once CHECK (granted_to_group IS NULL OR accepted_at IS NOT NULL),
    ADD CONSTRAINT ended_once CHECK (revoked_at IS NULL OR dropped_at IS NULL),
    ADD CONSTRAINT dropped_by_an_owner CHECK (granted_to_group IS NULL OR dropped_at IS NULL);
GRANT UPDATE (accepted_at, dropped_at) ON state.grants TO mnemic_app;
COMMENT ON TABLE state.grants IS 'Grants: who may recall whose memories, within which scope and until when.';

-- For recall: the grants in effect, to an owner and to a group. Offers are not in it, so that they cost a recall nothing.
DROP INDEX state.grants_readable;
CREATE INDEX grants_readable ON state.grants (tenant_id, granted_to)
WHERE accepted_at IS NOT NULL AND revoked_at IS NULL AND dropped_at IS NULL;
CREATE INDEX grants_to_groups ON state.grants (tenant_id, granted_to_group)
WHERE granted_to_group IS NOT NULL AND revoked_at IS NULL;
-- For the limits of open offers per reader, and of open and active grants per giver.
CREATE INDEX grants_offered ON state.grants (tenant_id, granted_to, owner)
WHERE accepted_at IS NULL AND revoked_at IS NULL AND dropped_at IS NULL;
CREATE INDEX grants_held ON state.grants (tenant_id, owner, granted_to) WHERE revoked_at IS NULL AND dropped_at IS NULL;
-- For the list of grants to groups, ended ones included.
CREATE INDEX grants_received_by_groups ON state.grants (tenant_id, granted_to_group, created_at DESC, grant_id DESC)
WHERE granted_to_group IS NOT NULL;

-- Groups of owners, managed by administrators. The group `everyone` has no row: all owners are in it.
CREATE TABLE state.groups (
    tenant_id uuid NOT NULL REFERENCES state.tenants,
    name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 256 AND name <> 'everyone'),
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, name)
);
COMMENT ON TABLE state.groups IS 'Groups of owners that grants can be given to.';
CALL mnemic.protect('state.groups', 'SELECT, INSERT, DELETE');

CREATE TABLE state.group_members (
    tenant_id uuid NOT NULL REFERENCES state.tenants,
    group_name text NOT NULL,
    owner text NOT NULL CHECK (char_length(owner) BETWEEN 1 AND 256),
    added_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, group_name, owner),
    FOREIGN KEY (tenant_id, group_name) REFERENCES state.groups ON DELETE CASCADE
);
COMMENT ON TABLE state.group_members IS 'The owners in each group.';
CREATE INDEX group_members_owner ON state.group_members (tenant_id, owner);
CALL mnemic.protect('state.group_members', 'SELECT, INSERT, DELETE');

-- Grants to groups that a member has dropped for itself; `owner` is that member. There is no foreign key: an export of the
-- member has these rows, and not the grants, which belong to another owner.
CREATE TABLE state.dropped_group_grants (
    tenant_id uuid NOT NULL REFERENCES state.tenants,
    grant_id uuid NOT NULL,
    owner text NOT NULL CHECK (char_length(owner) BETWEEN 1 AND 256),
    dropped_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, grant_id, owner)
);
COMMENT ON TABLE state.dropped_group_grants IS 'Grants to groups that an owner has dropped for itself.';
CREATE INDEX dropped_group_grants_owner ON state.dropped_group_grants (tenant_id, owner);
CALL mnemic.protect('state.dropped_group_grants', 'SELECT, INSERT');

-- Whether readers accept grants themselves (`ask`), or every grant takes effect at once (`accept_all`).
ALTER TABLE state.tenants
    ADD COLUMN grant_policy text NOT NULL DEFAULT 'ask' CHECK (grant_policy IN ('ask', 'accept_all'));
GRANT UPDATE (grant_policy) ON state.tenants TO mnemic_app;
