-- Lists of entities by name and by the beginning of a name, and relations that were removed (knowledge/entity_lists.py,
-- knowledge/graph.py).

-- text_pattern_ops compares bytes, so that a prefix is one range in a database of any collation.
CREATE INDEX entities_by_name ON state.entities (tenant_id, owner, name_key text_pattern_ops, entity_id);
CREATE INDEX entities_by_salience ON state.entities (tenant_id, owner, salience DESC, entity_id DESC);

-- The condition holds for every row. Only queries that repeat it can use the index: otherwise the planner would read all
-- names of an owner by it when it looks up many first words.
CREATE INDEX entity_names_prefix ON state.entity_names (tenant_id, owner, name_key text_pattern_ops, entity_id)
WHERE name_key ~>=~ '';

-- Relations that were removed, so that a graph can be read as of a moment before. There is no foreign key to the entities:
-- one that is deleted can be restored, with its id.
CREATE TABLE state.removed_relations (
    tenant_id uuid NOT NULL REFERENCES state.tenants,
    owner text NOT NULL CHECK (char_length(owner) BETWEEN 1 AND 256),
    from_id uuid NOT NULL,
    to_id uuid NOT NULL,
    kind text NOT NULL CHECK (char_length(kind) BETWEEN 1 AND 256),
    confidence real NOT NULL CHECK (confidence BETWEEN 0 AND 1),
    provenance text NOT NULL CHECK (provenance IN ('measured', 'reasoned', 'witnessed')),
    memory_id uuid,
    process text NOT NULL CHECK (char_length(process) BETWEEN 1 AND 256),
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    removed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, from_id, to_id, kind, removed_at),
    FOREIGN KEY (tenant_id, memory_id) REFERENCES state.memories ON DELETE SET NULL (memory_id)
);
COMMENT ON TABLE state.removed_relations IS 'Relations between entities that were removed.';
CREATE INDEX removed_relations_to ON state.removed_relations (tenant_id, to_id, from_id);
CREATE INDEX removed_relations_evidence ON state.removed_relations (tenant_id, memory_id) WHERE memory_id IS NOT NULL;
CALL mnemic.protect('state.removed_relations', 'SELECT, INSERT');
