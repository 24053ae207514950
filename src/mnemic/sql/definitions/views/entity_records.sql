-- needs: knowledge/entity_salience
-- An entity as the SDK returns it, and its tenant, which queries name. Runs with the caller's privileges, so that row-level security applies.
CREATE OR REPLACE VIEW state.entity_records WITH (security_invoker = true) AS
SELECT
    entity_id, owner, category, name,
    ARRAY(
        SELECT aliases.name FROM state.entity_names AS aliases
        WHERE aliases.tenant_id = entities.tenant_id AND aliases.entity_id = entities.entity_id
          AND aliases.name_key <> entities.name_key
        ORDER BY aliases.name_key
    ) AS aliases,
    (
        SELECT coalesce(jsonb_object_agg(facts.attribute, facts.value), '{}') FROM state.entity_facts AS facts
        WHERE facts.tenant_id = entities.tenant_id AND facts.entity_id = entities.entity_id AND facts.retired_at IS NULL
    ) AS facts,
    mnemic.entity_salience(
        salience, updated_at,
        (
            SELECT mentioning.created_at
            FROM state.memory_entities AS links
            JOIN state.memories AS mentioning
                ON mentioning.tenant_id = links.tenant_id AND mentioning.memory_id = links.memory_id
            WHERE links.tenant_id = entities.tenant_id AND links.entity_id = entities.entity_id
            ORDER BY links.memory_id DESC LIMIT 1
        ),
        now()
    ) AS salience,
    metadata, process, version, created_at, updated_at, tenant_id
FROM state.entities;
GRANT SELECT ON state.entity_records TO mnemic_app;
