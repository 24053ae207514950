-- Branches: a channel that was forked from another one. It reads through to its parent as of the fork. States: *open* →
-- *merged* (its memories moved to the parent) or *dropped* (its memories were archived or erased).
CREATE TABLE state.channel_branches (
    tenant_id uuid NOT NULL REFERENCES state.tenants,
    owner text NOT NULL CHECK (char_length(owner) BETWEEN 1 AND 256),
    channel text NOT NULL CHECK (char_length(channel) BETWEEN 1 AND 256),
    parent text NOT NULL CHECK (char_length(parent) BETWEEN 1 AND 256),
    state text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'merged')),
    reason text CHECK (char_length(reason) BETWEEN 1 AND 1024),
    process text NOT NULL CHECK (char_length(process) BETWEEN 1 AND 256),
    forked_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    merged_at timestamptz,
    changeset_id uuid,
    PRIMARY KEY (tenant_id, owner, channel),
    CONSTRAINT not_its_own_parent CHECK (parent <> channel)
);
COMMENT ON TABLE state.channel_branches IS 'Channels that were forked from another channel.';
CALL mnemic.protect('state.channel_branches');

-- Memories of the parent that are hidden in a branch: forgotten, superseded or changed there.
CREATE TABLE state.branch_tombstones (
    tenant_id uuid NOT NULL,
    owner text NOT NULL,
    channel text NOT NULL,
    memory_id uuid NOT NULL,
    replaced_by uuid,
    hidden_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, owner, channel, memory_id),
    FOREIGN KEY (tenant_id, owner, channel) REFERENCES state.channel_branches ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, memory_id) REFERENCES state.memories ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, replaced_by) REFERENCES state.memories ON DELETE SET NULL (replaced_by)
);
COMMENT ON TABLE state.branch_tombstones IS 'Memories of the parent channel that are hidden in a branch.';
CREATE INDEX branch_tombstones_of_memory ON state.branch_tombstones (tenant_id, memory_id);
CALL mnemic.protect('state.branch_tombstones');
