-- Goals, strategies and working memory. Goals and strategies are memories (categories `prospective` and `procedural`);
-- these tables hold what only they have.
CREATE TABLE state.goals (
    tenant_id uuid NOT NULL,
    memory_id uuid NOT NULL,
    owner text NOT NULL CHECK (char_length(owner) BETWEEN 1 AND 256),
    status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'completed', 'abandoned', 'blocked')),
    priority smallint NOT NULL DEFAULT 5 CHECK (priority BETWEEN 0 AND 10),
    deadline timestamptz,
    result text CHECK (char_length(result) BETWEEN 1 AND 8192),
    parent_id uuid,
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, memory_id),
    UNIQUE (tenant_id, owner, memory_id),
    FOREIGN KEY (tenant_id, memory_id) REFERENCES state.memories ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, owner, parent_id) REFERENCES state.goals (tenant_id, owner, memory_id)
        ON DELETE SET NULL (parent_id) DEFERRABLE,
    CONSTRAINT no_own_parent CHECK (parent_id <> memory_id)
);
COMMENT ON TABLE state.goals IS 'Status, priority, deadline and result of memories that are goals.';
CREATE INDEX goals_open ON state.goals (tenant_id, owner, status, deadline);
CREATE INDEX goals_of_parent ON state.goals (tenant_id, owner, parent_id) WHERE parent_id IS NOT NULL;
CALL mnemic.protect('state.goals');

CREATE TABLE state.goal_blockers (
    tenant_id uuid NOT NULL,
    owner text NOT NULL,
    goal_id uuid NOT NULL,
    blocked_by uuid NOT NULL,
    PRIMARY KEY (tenant_id, goal_id, blocked_by),
    FOREIGN KEY (tenant_id, owner, goal_id) REFERENCES state.goals (tenant_id, owner, memory_id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, owner, blocked_by) REFERENCES state.goals (tenant_id, owner, memory_id) ON DELETE CASCADE,
    CONSTRAINT no_self_loop CHECK (goal_id <> blocked_by)
);
COMMENT ON TABLE state.goal_blockers IS 'Goals that cannot go on before others are completed.';
CREATE INDEX goal_blockers_by ON state.goal_blockers (tenant_id, blocked_by);
CALL mnemic.protect('state.goal_blockers');

CREATE TABLE state.strategies (
    tenant_id uuid NOT NULL,
    memory_id uuid NOT NULL,
    owner text NOT NULL CHECK (char_length(owner) BETWEEN 1 AND 256),
    task text NOT NULL CHECK (char_length(task) BETWEEN 1 AND 2048),
    tools text[] NOT NULL DEFAULT '{}' CHECK (cardinality(tools) <= 32),
    is_mined boolean NOT NULL DEFAULT false,
    success_count int NOT NULL DEFAULT 0 CHECK (success_count >= 0),
    failure_count int NOT NULL DEFAULT 0 CHECK (failure_count >= 0),
    last_used_at timestamptz,
    PRIMARY KEY (tenant_id, memory_id),
    UNIQUE (tenant_id, owner, memory_id),
    FOREIGN KEY (tenant_id, memory_id) REFERENCES state.memories ON DELETE CASCADE
);
COMMENT ON TABLE state.strategies IS 'Task, tools and outcomes of memories that are strategies.';
CREATE INDEX strategies_of_owner ON state.strategies (tenant_id, owner);
CALL mnemic.protect('state.strategies');

CREATE TABLE state.strategy_uses (
    tenant_id uuid NOT NULL,
    use_id uuid NOT NULL DEFAULT mnemic.new_id(),
    owner text NOT NULL,
    strategy_id uuid NOT NULL,
    conversation text CHECK (char_length(conversation) BETWEEN 1 AND 256),
    succeeded boolean NOT NULL,
    note text CHECK (char_length(note) BETWEEN 1 AND 2048),
    at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, use_id),
    FOREIGN KEY (tenant_id, owner, strategy_id) REFERENCES state.strategies (tenant_id, owner, memory_id)
        ON DELETE CASCADE
);
COMMENT ON TABLE state.strategy_uses IS 'When a strategy was used, and with what outcome.';
CREATE INDEX strategy_uses_of_strategy ON state.strategy_uses (tenant_id, strategy_id);
CALL mnemic.protect('state.strategy_uses');

-- The job that mines patterns of tools looks for owners who used some lately.
CREATE INDEX tool_invocations_newest ON state.tool_invocations (tenant_id, at);

-- Working memory is lost when PostgreSQL crashes: it holds what only the current task needs.
CREATE UNLOGGED TABLE state.working_items (
    tenant_id uuid NOT NULL,
    owner text NOT NULL CHECK (char_length(owner) BETWEEN 1 AND 256),
    channel text NOT NULL CHECK (char_length(channel) BETWEEN 1 AND 256),
    conversation text NOT NULL DEFAULT '' CHECK (char_length(conversation) <= 256),
    kind text NOT NULL CHECK (kind IN ('value', 'thought', 'goal')),
    key text NOT NULL CHECK (char_length(key) BETWEEN 1 AND 256),
    value jsonb NOT NULL CHECK (octet_length(value::text) <= 65536),
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, owner, channel, conversation, kind, key),
    -- An import must not store what every later read would fail on.
    CONSTRAINT readable_thought CHECK (
        kind <> 'thought' OR (jsonb_typeof(value) = 'string' AND key ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$')
    ),
    CONSTRAINT readable_goal CHECK (
        kind <> 'goal'
        OR (jsonb_typeof(value) = 'string' AND value #>> '{}' ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$')
    )
);
COMMENT ON TABLE state.working_items IS 'Working memory: values, thoughts and the active goal, until they expire.';
CREATE INDEX working_items_expiry ON state.working_items (tenant_id, expires_at);
CALL mnemic.protect('state.working_items');
