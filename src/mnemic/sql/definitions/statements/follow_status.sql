-- Keeps the triple of a statement only while the statement is current: superseding, quarantining, archiving or forgetting
-- it removes the triple, undoing that adds it again, and removes the marks that superseding it gave to its sources.
CREATE OR REPLACE FUNCTION mnemic.follow_status() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF NEW.status = 'active' AND NEW.deleted_at IS NULL THEN
        INSERT INTO state.triples (
            tenant_id, owner, subject, predicate, object, confidence, provenance, memory_id, process
        )
        SELECT NEW.tenant_id, NEW.owner, statements.subject, statements.attribute, statements.value, NEW.confidence,
            NEW.provenance, NEW.memory_id, NEW.process
        FROM state.statements
        WHERE statements.tenant_id = NEW.tenant_id AND statements.memory_id = NEW.memory_id
          AND NOT statements.is_negated AND statements.tense = 'current'
        ON CONFLICT DO NOTHING;
        DELETE FROM state.outdated_memories
        USING state.statement_sources AS said
        WHERE said.tenant_id = NEW.tenant_id AND said.memory_id = NEW.memory_id
          AND outdated_memories.tenant_id = NEW.tenant_id AND outdated_memories.older_id = said.source_id
          AND outdated_memories.decision = 'found'
          AND outdated_memories.reason = 'A newer statement gives another value.';
    ELSE
        DELETE FROM state.triples
        USING state.statements
        WHERE triples.tenant_id = NEW.tenant_id AND triples.memory_id = NEW.memory_id
          AND statements.tenant_id = NEW.tenant_id AND statements.memory_id = NEW.memory_id
          AND triples.subject = statements.subject AND triples.predicate = statements.attribute
          AND triples.object = statements.value;
    END IF;
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER follow_status AFTER UPDATE OF status, deleted_at ON state.memories FOR EACH ROW
WHEN ((OLD.status = 'active' AND OLD.deleted_at IS NULL) <> (NEW.status = 'active' AND NEW.deleted_at IS NULL))
EXECUTE FUNCTION mnemic.follow_status();
