-- Branches: a channel that was forked from another one (record/branches.py). It reads through to its parent as of the fork.
--
-- A branch is *open* until it is *merged* (`merged_at`, and the changeset of the merge was not undone) or *dropped*, which
-- leaves no row. Whether a merge was undone is known to its changeset alone, so that undoing it opens the branch again.
CREATE TABLE state.channel_branches (
    tenant_id uuid NOT NULL REFERENCES state.tenants,
    owner text NOT NULL CHECK (char_length(owner) BETWEEN 1 AND 256),
    channel text NOT NULL CHECK (char_length(channel) BETWEEN 1 AND 256),
    parent text NOT NULL CHECK (char_length(parent) BETWEEN 1 AND 256),
    reason text CHECK (char_length(reason) BETWEEN 1 AND 1024),
    process text NOT NULL CHECK (char_length(process) BETWEEN 1 AND 256),
    forked_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    merged_at timestamptz,
    changeset_id uuid,
    PRIMARY KEY (tenant_id, owner, channel),
    FOREIGN KEY (tenant_id, owner, changeset_id) REFERENCES state.changesets (tenant_id, owner, changeset_id)
        ON DELETE SET NULL (changeset_id),
    CONSTRAINT not_its_own_parent CHECK (parent <> channel),
    CONSTRAINT global_is_no_branch CHECK (channel <> '_global'),
    CONSTRAINT merged_by_a_changeset CHECK (changeset_id IS NULL OR merged_at IS NOT NULL)
);
COMMENT ON TABLE state.channel_branches IS 'Channels that were forked from another channel.';
CREATE INDEX channel_branches_of_parent ON state.channel_branches (tenant_id, owner, parent);
CALL mnemic.protect('state.channel_branches', 'SELECT, INSERT');
GRANT UPDATE (merged_at, changeset_id) ON state.channel_branches TO mnemic_app;

-- Memories outside of a branch that are hidden in it: forgotten, superseded or changed there, from `hidden_at` to
-- `shown_at`. `replaced_by` is the memory of the branch that took the place. A row of a merge into a branch has the
-- changeset of the merge, and counts unless that was undone.
CREATE TABLE state.branch_tombstones (
    tenant_id uuid NOT NULL,
    owner text NOT NULL,
    channel text NOT NULL,
    memory_id uuid NOT NULL,
    hidden_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    shown_at timestamptz,
    replaced_by uuid,
    reason text CHECK (char_length(reason) BETWEEN 1 AND 1024),
    changeset_id uuid,
    PRIMARY KEY (tenant_id, owner, channel, memory_id, hidden_at),
    FOREIGN KEY (tenant_id, owner, channel) REFERENCES state.channel_branches ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, memory_id) REFERENCES state.memories ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, replaced_by) REFERENCES state.memories ON DELETE SET NULL (replaced_by),
    FOREIGN KEY (tenant_id, owner, changeset_id) REFERENCES state.changesets (tenant_id, owner, changeset_id)
        ON DELETE SET NULL (changeset_id),
    CONSTRAINT hidden_before_shown CHECK (shown_at > hidden_at)
);
COMMENT ON TABLE state.branch_tombstones IS 'Memories that are hidden in a branch.';
CREATE INDEX branch_tombstones_of_memory ON state.branch_tombstones (tenant_id, memory_id);
CREATE INDEX branch_tombstones_replacing ON state.branch_tombstones (tenant_id, replaced_by) WHERE replaced_by IS NOT NULL;
CALL mnemic.protect('state.branch_tombstones', 'SELECT, INSERT');
GRANT UPDATE (shown_at) ON state.branch_tombstones TO mnemic_app;

-- `branch` is the channel, if that is a branch; else NULL. Duplicates and grants do not cross its border, so that the
-- unique indexes and the searches through grants need it in the row. The trigger follow_channel keeps it when the channel
-- changes.
ALTER TABLE state.memories
    ADD COLUMN branch text,
    ADD CONSTRAINT branch_is_the_channel CHECK (branch = channel),
    ADD FOREIGN KEY (tenant_id, owner, branch) REFERENCES state.channel_branches;
ALTER TABLE state.memory_versions ADD COLUMN branch text;
CALL mnemic.withhold_statistics('state.memories');
CALL mnemic.withhold_statistics('state.memory_versions');
CREATE INDEX memories_of_branch ON state.memories (tenant_id, owner, branch, memory_id DESC) WHERE branch IS NOT NULL;

-- For the trigger follow_channel: a merge moves conversations and statements, too.
GRANT UPDATE (channel) ON state.conversations, state.statements TO mnemic_definer;

-- An owner may have the same text, or the same external id, once in each branch and once outside of branches.
DROP INDEX state.memories_content;
CREATE UNIQUE INDEX memories_content ON state.memories (tenant_id, content_hash, owner, branch) NULLS NOT DISTINCT
WHERE status = 'active' AND deleted_at IS NULL AND coalesce(chunk_index, 0) = 0;
DROP INDEX state.memories_external;
CREATE UNIQUE INDEX memories_external ON state.memories (tenant_id, external_id, owner, branch) NULLS NOT DISTINCT
WHERE external_id IS NOT NULL AND coalesce(chunk_index, 0) = 0;

-- How a recall in a branch reads: `branch` as it is, each of `past_channels` as it was known at the time of the same
-- index in `past_times`.
ALTER TYPE mnemic.recall_filter
    ADD ATTRIBUTE branch text,
    ADD ATTRIBUTE past_channels text[],
    ADD ATTRIBUTE past_times timestamptz[];

-- The views of records get the column `branch`; the definitions create them again.
DROP FUNCTION IF EXISTS mnemic.recall_records(uuid, uuid[]);
DROP VIEW IF EXISTS state.memory_history, state.memory_records;
