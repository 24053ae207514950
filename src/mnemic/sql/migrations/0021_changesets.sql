-- The change log of curation: every change that Mnemic makes to a memory on its own behalf (record/changesets.py).
--
-- A change is *staged* (nothing has changed yet), *approved* (somebody decided that it shall be applied), *applied*,
-- *rejected* or *undone*. Some changes of a changeset can be applied and others rejected. A changeset is *staged* while one
-- of its changes is staged or approved, otherwise *applied* while one is applied, otherwise *undone* or *rejected*. A change
-- that cannot be applied or undone, because its memory has changed meanwhile, keeps its state, and the caller gets the
-- conflict.
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

-- `fields` are the new values of versioned fields of the memory. `version_before` is the version that the change was
-- proposed for, after applying the one that it replaced; `version_after` is the one that applying it made. An `add` records
-- a memory that was created: undoing it forgets the memory. `related_id` and `relationship` name a relationship from this
-- memory; `relationship_added` says that applying the change added it, so that undoing removes it. Changes are applied in
-- the order of `position`; `applied_at` orders those of several changesets.
CREATE TABLE state.memory_changes (
    tenant_id uuid NOT NULL,
    change_id uuid NOT NULL DEFAULT mnemic.new_id(),
    owner text NOT NULL,
    changeset_id uuid NOT NULL,
    "position" int NOT NULL CHECK ("position" >= 0),
    memory_id uuid NOT NULL,
    kind text NOT NULL CHECK (
        kind IN ('add', 'promote', 'demote', 'archive', 'prune', 'merge', 'supersede', 'quarantine', 'restore', 'move')
    ),
    state text NOT NULL DEFAULT 'staged' CHECK (state IN ('staged', 'approved', 'applied', 'rejected', 'undone')),
    fields jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(fields) = 'object'),
    version_before int NOT NULL CHECK (version_before > 0),
    version_after int CHECK (version_after > 0),
    applied_at timestamptz,
    related_id uuid,
    relationship text CHECK (
        relationship IN ('supports', 'contradicts', 'supersedes', 'refines', 'co_occurs', 'derived_from')
    ),
    relationship_added boolean NOT NULL DEFAULT false,
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
CREATE UNIQUE INDEX memory_changes_of_changeset ON state.memory_changes (tenant_id, changeset_id, "position");
CREATE INDEX memory_changes_of_memory ON state.memory_changes (tenant_id, memory_id, change_id DESC);
CALL mnemic.protect('state.memory_changes');
-- Undoing asks whether another applied change needs a relationship that it would remove.
CREATE INDEX memory_changes_of_relationship ON state.memory_changes (tenant_id, memory_id, related_id)
WHERE related_id IS NOT NULL;

-- Kinds of proposals of the curator that are applied without asking.
CREATE TABLE state.curation_policies (
    tenant_id uuid NOT NULL REFERENCES state.tenants,
    owner text NOT NULL CHECK (char_length(owner) BETWEEN 1 AND 256),
    kind text NOT NULL CHECK (kind IN ('promote', 'archive', 'prune', 'merge', 'supersede')),
    is_automatic boolean NOT NULL,
    set_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, owner, kind)
);
COMMENT ON TABLE state.curation_policies IS 'Kinds of proposals of the curator that are applied without asking, by owner.';
CALL mnemic.protect('state.curation_policies');

-- Where the curator's next run goes on: the last memory that it has read, or NULL for the start.
CREATE TABLE state.curation_cursors (
    tenant_id uuid NOT NULL REFERENCES state.tenants,
    owner text NOT NULL CHECK (char_length(owner) BETWEEN 1 AND 256),
    after_id uuid,
    read_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, owner)
);
COMMENT ON TABLE state.curation_cursors IS 'How far the curator has read the memories of each owner.';
CALL mnemic.protect('state.curation_cursors');
