-- Forgets the statements and summaries that rest on a forgotten memory, and restores them together with it.
-- A statement is forgotten with its last source, a summary of a conversation (which has no row in state.statements) with
-- any of its turns, because it quotes them. They get the same time of forgetting, by which restoring recognises them.
CREATE OR REPLACE FUNCTION mnemic.follow_sources() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF NEW.deleted_at IS NOT NULL THEN
        UPDATE state.memories AS resting
        SET deleted_at = NEW.deleted_at, changed_by = 'system', change_reason = 'Its source was forgotten.'
        FROM state.statement_sources AS link
        WHERE link.tenant_id = NEW.tenant_id AND link.source_id = NEW.memory_id
          AND resting.tenant_id = NEW.tenant_id AND resting.memory_id = link.memory_id
          AND resting.memory_id <> NEW.memory_id AND resting.deleted_at IS NULL
          AND NOT EXISTS (
              SELECT FROM state.statement_sources AS other
              JOIN state.memories AS source
                  ON source.tenant_id = NEW.tenant_id AND source.memory_id = other.source_id
              JOIN state.statements ON statements.tenant_id = NEW.tenant_id AND statements.memory_id = other.memory_id
              WHERE other.tenant_id = NEW.tenant_id AND other.memory_id = resting.memory_id AND source.deleted_at IS NULL
          );
        -- The conversation is due again, for a new summary; marks keep its turns from being read again.
        UPDATE state.consolidated_conversations SET summary_id = NULL, next_position = 0
        WHERE tenant_id = NEW.tenant_id AND owner = NEW.owner AND summary_id = NEW.memory_id;
    ELSE
        UPDATE state.memories AS resting
        SET deleted_at = NULL, changed_by = 'system', change_reason = 'Its source was restored.'
        FROM state.statement_sources AS link
        JOIN state.statements ON statements.tenant_id = NEW.tenant_id AND statements.memory_id = link.memory_id
        WHERE link.tenant_id = NEW.tenant_id AND link.source_id = NEW.memory_id
          AND resting.tenant_id = NEW.tenant_id AND resting.memory_id = link.memory_id
          AND resting.deleted_at = OLD.deleted_at
          AND NOT (resting.status = 'active' AND EXISTS (
              SELECT FROM state.memories AS again
              WHERE again.tenant_id = NEW.tenant_id AND again.content_hash = resting.content_hash
                AND again.owner = resting.owner AND again.status = 'active' AND again.deleted_at IS NULL
          ));
    END IF;
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER follow_sources AFTER UPDATE OF deleted_at ON state.memories FOR EACH ROW
WHEN ((OLD.deleted_at IS NULL) <> (NEW.deleted_at IS NULL))
EXECUTE FUNCTION mnemic.follow_sources();
