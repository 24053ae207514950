-- The change log of curation: every change that Mnemic makes to a memory on its own behalf (record/changesets.py).
--
-- A changeset is *staged* (nothing has changed yet), *applied*, *rejected* or *undone*. Each of its changes has the same
-- states, so that some of a changeset can be applied and others rejected; a change that could not be applied or undone,
-- because its memory had changed meanwhile, keeps its state, and the caller gets the conflict.
CREATE TABLE state.changesets (
    tenant_id uuid NOT NULL REFERENCES state.tenants,
    changeset_id uuid NOT NULL DEFAULT mnemic.new_id(),
    owner text NOT NULL CHECK (char_length(owner) BETWEEN 1 AND 256),
    channel text CHECK (char_length(channel) BETWEEN 1 AND 256),
    purpose text NOT NULL CHECK (
        purpose IN ('curation', 'contradiction', 'consolidation', 'promotion', 'demotion', 'merge', 'cleanup')
    ),
    state text NOT NULL DEFAULT 'staged' CHECK (state IN ('staged', 'applied', 'rejected', 'undone')),
    reason text NOT NULL CHECK (char_length(reason) BETWEEN 1 AND 1024),
    details jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(details) = 'object'),
    process text NOT NULL CHECK (char_length(process) BETWEEN 1 AND 256),
    created_at timestamptz NOT NULL DEFAULT now(),
    decided_at timestamptz,
    undone_at timestamptz,
    PRIMARY KEY (tenant_id, changeset_id),
    UNIQUE (tenant_id, owner, changeset_id)
);
COMMENT ON TABLE state.changesets IS 'Groups of changes that curation proposed or made, with their state.';
CREATE INDEX changesets_newest ON state.changesets (tenant_id, owner, changeset_id DESC);
CALL mnemic.protect('state.changesets');

-- `fields` are the new values of versioned fields of the memory; `version_before` is the version that the change was
-- proposed for, `version_after` the one that applying it made. An `add` records a memory that was created: undoing it
-- forgets the memory. `related_id` and `relationship` name a relationship from this memory that was added with the change.
CREATE TABLE state.memory_changes (
    tenant_id uuid NOT NULL,
    change_id uuid NOT NULL DEFAULT mnemic.new_id(),
    owner text NOT NULL,
    changeset_id uuid NOT NULL,
    memory_id uuid NOT NULL,
    kind text NOT NULL CHECK (
        kind IN ('add', 'promote', 'demote', 'archive', 'prune', 'merge', 'supersede', 'quarantine', 'restore', 'move')
    ),
    state text NOT NULL DEFAULT 'staged' CHECK (state IN ('staged', 'applied', 'rejected', 'undone')),
    fields jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(fields) = 'object'),
    version_before int NOT NULL CHECK (version_before > 0),
    version_after int CHECK (version_after > 0),
    related_id uuid,
    relationship text CHECK (
        relationship IN ('supports', 'contradicts', 'supersedes', 'refines', 'co_occurs', 'derived_from')
    ),
    reason text NOT NULL CHECK (char_length(reason) BETWEEN 1 AND 1024),
    evidence uuid[] NOT NULL DEFAULT '{}' CHECK (cardinality(evidence) <= 64),
    signals jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(signals) = 'object'),
    PRIMARY KEY (tenant_id, change_id),
    FOREIGN KEY (tenant_id, owner, changeset_id)
        REFERENCES state.changesets (tenant_id, owner, changeset_id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, memory_id) REFERENCES state.memories ON DELETE CASCADE,
    CONSTRAINT relationship_has_both CHECK ((related_id IS NULL) = (relationship IS NULL))
);
COMMENT ON TABLE state.memory_changes IS 'Changes of single memories, each part of a changeset.';
CREATE INDEX memory_changes_of_changeset ON state.memory_changes (tenant_id, changeset_id, change_id);
CREATE INDEX memory_changes_of_memory ON state.memory_changes (tenant_id, memory_id, change_id DESC);
CALL mnemic.protect('state.memory_changes');
