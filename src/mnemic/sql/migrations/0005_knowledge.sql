-- Entities (people, projects, products …), facts about them and relations between them; the memories that mention
-- them; and statements as subject, predicate, object.
--
-- An entity belongs to an owner and is identified by category and name, case-insensitively. The first upsert creates it,
-- later ones add to it, and deleting moves it to `archived_entities`, from where it can be restored with its id. Writers
-- lock the entity's row, so that no concurrent fact is lost.

-- The lengths keep every key below the limit of an index entry, also with four bytes per character; `name_key` may be
-- longer than the name and therefore has its own limit.
CREATE TABLE state.entities (
    tenant_id uuid NOT NULL REFERENCES state.tenants,
    entity_id uuid NOT NULL DEFAULT mnemic.new_id(),
    owner text NOT NULL CHECK (char_length(owner) BETWEEN 1 AND 256),
    category text NOT NULL CHECK (char_length(category) BETWEEN 1 AND 64 AND category = mnemic.name_key(category)),
    name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 256),
    name_key text NOT NULL GENERATED ALWAYS AS (mnemic.name_key(name)) STORED
        CHECK (char_length(name_key) BETWEEN 1 AND 256),
    salience real NOT NULL DEFAULT 0.5 CHECK (salience BETWEEN 0 AND 1),
    metadata jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(metadata) = 'object'),
    process text NOT NULL CHECK (char_length(process) BETWEEN 1 AND 256),
    version int NOT NULL DEFAULT 1 CHECK (version > 0),
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, entity_id),
    -- Foreign keys to an entity use this key, so that a row cannot refer to an entity of another owner.
    UNIQUE (tenant_id, owner, entity_id),
    UNIQUE (tenant_id, owner, category, name_key)
);
COMMENT ON TABLE state.entities IS 'Who and what an owner knows, one row each.';
CREATE INDEX entities_category ON state.entities (tenant_id, owner, category, entity_id DESC);
CALL mnemic.protect('state.entities', 'SELECT, INSERT, DELETE');
GRANT UPDATE (salience, metadata, process, version, updated_at) ON state.entities TO mnemic_app;

-- Every name of an entity, its own and its aliases. Several entities may share one. `first_word` is the lookup key for
-- finding names in a text; Python computes it; NULL if a name has no word that can be found.
CREATE TABLE state.entity_names (
    tenant_id uuid NOT NULL,
    owner text NOT NULL,
    entity_id uuid NOT NULL,
    name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 256),
    name_key text NOT NULL GENERATED ALWAYS AS (mnemic.name_key(name)) STORED
        CHECK (char_length(name_key) BETWEEN 1 AND 256),
    first_word text CHECK (char_length(first_word) BETWEEN 1 AND 64),
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, entity_id, name_key),
    FOREIGN KEY (tenant_id, owner, entity_id) REFERENCES state.entities (tenant_id, owner, entity_id) ON DELETE CASCADE
);
COMMENT ON TABLE state.entity_names IS 'What entities are called: each one''s own name and its aliases.';
-- In this column order, so that the planner does not use this index by owner alone when it looks up many first words.
CREATE INDEX entity_names_key ON state.entity_names (tenant_id, name_key, owner);
CREATE INDEX entity_names_first_word ON state.entity_names (tenant_id, owner, first_word);
CALL mnemic.protect('state.entity_names', 'SELECT, INSERT, DELETE');

-- Facts about entities, one row per attribute and value. A value is never changed: it is retired when another one
-- replaces it, so that earlier values stay readable.
CREATE TABLE state.entity_facts (
    tenant_id uuid NOT NULL,
    fact_id uuid NOT NULL DEFAULT mnemic.new_id(),
    owner text NOT NULL,
    entity_id uuid NOT NULL,
    attribute text NOT NULL CHECK (char_length(attribute) BETWEEN 1 AND 256),
    value jsonb NOT NULL,
    confidence real NOT NULL DEFAULT 1 CHECK (confidence BETWEEN 0 AND 1),
    provenance text NOT NULL DEFAULT 'witnessed' CHECK (provenance IN ('measured', 'reasoned', 'witnessed')),
    memory_id uuid,
    process text NOT NULL CHECK (char_length(process) BETWEEN 1 AND 256),
    recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    retired_at timestamptz CHECK (retired_at >= recorded_at),
    PRIMARY KEY (tenant_id, fact_id),
    FOREIGN KEY (tenant_id, owner, entity_id) REFERENCES state.entities (tenant_id, owner, entity_id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, memory_id) REFERENCES state.memories ON DELETE SET NULL (memory_id)
);
COMMENT ON TABLE state.entity_facts IS 'What is and was known about entities; `memory_id` is the evidence.';
CREATE UNIQUE INDEX entity_facts_living ON state.entity_facts (tenant_id, entity_id, attribute) WHERE retired_at IS NULL;
CREATE INDEX entity_facts_history ON state.entity_facts (tenant_id, entity_id, recorded_at DESC, fact_id DESC);
CREATE INDEX entity_facts_evidence ON state.entity_facts (tenant_id, memory_id) WHERE memory_id IS NOT NULL;
CALL mnemic.protect('state.entity_facts', 'SELECT, INSERT');
GRANT UPDATE (retired_at) ON state.entity_facts TO mnemic_app;

CREATE TABLE state.entity_relations (
    tenant_id uuid NOT NULL,
    owner text NOT NULL,
    from_id uuid NOT NULL,
    to_id uuid NOT NULL,
    kind text NOT NULL CHECK (char_length(kind) BETWEEN 1 AND 256),
    confidence real NOT NULL DEFAULT 1 CHECK (confidence BETWEEN 0 AND 1),
    provenance text NOT NULL DEFAULT 'witnessed' CHECK (provenance IN ('measured', 'reasoned', 'witnessed')),
    memory_id uuid,
    process text NOT NULL CHECK (char_length(process) BETWEEN 1 AND 256),
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, from_id, to_id, kind),
    FOREIGN KEY (tenant_id, owner, from_id) REFERENCES state.entities (tenant_id, owner, entity_id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, owner, to_id) REFERENCES state.entities (tenant_id, owner, entity_id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, memory_id) REFERENCES state.memories ON DELETE SET NULL (memory_id),
    CONSTRAINT no_self_loop CHECK (from_id <> to_id)
);
COMMENT ON TABLE state.entity_relations IS 'How entities stand to each other; both ends belong to one owner.';
CREATE INDEX entity_relations_to ON state.entity_relations (tenant_id, to_id, from_id);
CREATE INDEX entity_relations_evidence ON state.entity_relations (tenant_id, memory_id) WHERE memory_id IS NOT NULL;
CALL mnemic.protect('state.entity_relations', 'SELECT, INSERT, DELETE');
GRANT UPDATE (confidence, provenance, memory_id, process, updated_at) ON state.entity_relations TO mnemic_app;

CREATE TABLE state.memory_entities (
    tenant_id uuid NOT NULL,
    owner text NOT NULL,
    memory_id uuid NOT NULL,
    entity_id uuid NOT NULL,
    PRIMARY KEY (tenant_id, memory_id, entity_id),
    FOREIGN KEY (tenant_id, memory_id) REFERENCES state.memories ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, owner, entity_id) REFERENCES state.entities (tenant_id, owner, entity_id) ON DELETE CASCADE
);
COMMENT ON TABLE state.memory_entities IS 'Which memories mention which entities.';
CREATE INDEX memory_entities_entity ON state.memory_entities (tenant_id, entity_id, memory_id DESC);
CALL mnemic.protect('state.memory_entities', 'SELECT, INSERT, DELETE');

-- ARCHIVE: deleted entities with everything that belonged to them as JSON. Restoring one removes its row.
CREATE TABLE state.archived_entities (
    tenant_id uuid NOT NULL REFERENCES state.tenants,
    entity_id uuid NOT NULL,
    owner text NOT NULL CHECK (char_length(owner) BETWEEN 1 AND 256),
    category text NOT NULL CHECK (char_length(category) BETWEEN 1 AND 64),
    name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 256),
    name_key text NOT NULL GENERATED ALWAYS AS (mnemic.name_key(name)) STORED,
    snapshot jsonb NOT NULL CHECK (jsonb_typeof(snapshot) = 'object'),
    process text NOT NULL CHECK (char_length(process) BETWEEN 1 AND 256),
    archived_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, entity_id)
);
COMMENT ON TABLE state.archived_entities IS 'Deleted entities, which can be restored.';
CREATE INDEX archived_entities_name ON state.archived_entities (tenant_id, owner, category, name_key, archived_at DESC);
CREATE INDEX archived_entities_recent ON state.archived_entities (tenant_id, owner, archived_at DESC, entity_id DESC);
CALL mnemic.protect('state.archived_entities', 'SELECT, INSERT, DELETE');
GRANT UPDATE (snapshot) ON state.archived_entities TO mnemic_app;

-- Statements between texts, for things that are not entities. The hashes stand for texts that may be too long for an
-- index; they are columns because under row-level security only plain comparisons of columns can use an index.
CREATE TABLE state.triples (
    tenant_id uuid NOT NULL REFERENCES state.tenants,
    triple_id uuid NOT NULL DEFAULT mnemic.new_id(),
    owner text NOT NULL CHECK (char_length(owner) BETWEEN 1 AND 256),
    subject text NOT NULL CHECK (char_length(subject) BETWEEN 1 AND 256 AND subject !~ '\n'),
    predicate text NOT NULL CHECK (char_length(predicate) BETWEEN 1 AND 256 AND predicate !~ '\n'),
    object text NOT NULL CHECK (char_length(object) BETWEEN 1 AND 2048),
    object_hash text NOT NULL GENERATED ALWAYS AS (md5(object)) STORED,
    statement_hash bytea NOT NULL GENERATED ALWAYS AS (
        mnemic.content_hash(subject || E'\n' || predicate || E'\n' || object, 'factual', NULL, NULL, NULL, NULL)
    ) STORED,
    confidence real NOT NULL DEFAULT 1 CHECK (confidence BETWEEN 0 AND 1),
    provenance text NOT NULL DEFAULT 'witnessed' CHECK (provenance IN ('measured', 'reasoned', 'witnessed')),
    memory_id uuid,
    process text NOT NULL CHECK (char_length(process) BETWEEN 1 AND 256),
    recorded_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, triple_id),
    UNIQUE (tenant_id, owner, statement_hash),
    FOREIGN KEY (tenant_id, memory_id) REFERENCES state.memories ON DELETE SET NULL (memory_id)
);
COMMENT ON TABLE state.triples IS 'Subject, predicate, object: statements with their provenance.';
CREATE INDEX triples_recent ON state.triples (tenant_id, owner, triple_id DESC);
CREATE INDEX triples_subject ON state.triples (tenant_id, owner, subject, triple_id DESC);
CREATE INDEX triples_predicate ON state.triples (tenant_id, owner, predicate, triple_id DESC);
CREATE INDEX triples_object ON state.triples (tenant_id, owner, object_hash, triple_id DESC);
CREATE INDEX triples_evidence ON state.triples (tenant_id, memory_id) WHERE memory_id IS NOT NULL;
CALL mnemic.protect('state.triples', 'SELECT, INSERT, DELETE');
GRANT UPDATE (confidence, provenance, memory_id, process) ON state.triples TO mnemic_app;
