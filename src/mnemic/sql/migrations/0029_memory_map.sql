-- The map of an owner's memories: their vectors reduced to two dimensions by a job (memory_map/). It can be made again at any
-- time, so it is not exported. Every row refers to a memory and is deleted with it: nothing is left of an owner that is erased
-- while a map is made.

CREATE TABLE vectors.memory_positions (
    tenant_id uuid NOT NULL,
    memory_id uuid NOT NULL,
    owner text NOT NULL CHECK (char_length(owner) BETWEEN 1 AND 256),
    -- The model whose vectors were reduced.
    model text NOT NULL CHECK (char_length(model) BETWEEN 1 AND 256),
    x real NOT NULL CHECK (x BETWEEN -1 AND 1),
    y real NOT NULL CHECK (y BETWEEN -1 AND 1),
    region int NOT NULL CHECK (region >= 0),
    -- The place in the order of salience when the map was made: a reader of few positions gets the most salient.
    place int NOT NULL CHECK (place >= 0),
    made_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, memory_id),
    FOREIGN KEY (tenant_id, memory_id) REFERENCES state.memories ON DELETE CASCADE
);
COMMENT ON TABLE vectors.memory_positions IS 'Where memories are on the map of their owner.';
CREATE INDEX memory_positions_place ON vectors.memory_positions (tenant_id, owner, place);
CALL mnemic.protect('vectors.memory_positions', 'SELECT, INSERT, DELETE');

CREATE TABLE vectors.map_regions (
    tenant_id uuid NOT NULL,
    owner text NOT NULL CHECK (char_length(owner) BETWEEN 1 AND 256),
    region int NOT NULL CHECK (region >= 0),
    x real NOT NULL CHECK (x BETWEEN -1 AND 1),
    y real NOT NULL CHECK (y BETWEEN -1 AND 1),
    -- Words that are frequent in the region and rare outside.
    words text[] NOT NULL,
    -- The memory next to the middle of the region.
    memory_id uuid NOT NULL,
    PRIMARY KEY (tenant_id, owner, region),
    FOREIGN KEY (tenant_id, memory_id) REFERENCES state.memories ON DELETE CASCADE
);
COMMENT ON TABLE vectors.map_regions IS 'Regions of the maps of memories, with words that describe them.';
CREATE INDEX map_regions_memory ON vectors.map_regions (tenant_id, memory_id);
CALL mnemic.protect('vectors.map_regions', 'SELECT, INSERT, DELETE');
