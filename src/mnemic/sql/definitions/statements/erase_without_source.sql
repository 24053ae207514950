-- Erases a statement when its last source was erased, and a summary when any of its turns was. Erasing an owner deletes
-- everything itself and counts it, so it is left alone.
CREATE OR REPLACE FUNCTION mnemic.erase_without_source() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF mnemic.verified_claim('maintenance') IS NOT NULL THEN
        RETURN NULL;
    END IF;
    DELETE FROM state.triples
    WHERE triples.tenant_id = OLD.tenant_id AND triples.memory_id = OLD.memory_id
      AND NOT EXISTS (
          SELECT FROM state.statement_sources AS other
          WHERE other.tenant_id = OLD.tenant_id AND other.memory_id = OLD.memory_id
      );
    DELETE FROM state.memories
    WHERE memories.tenant_id = OLD.tenant_id AND memories.memory_id = OLD.memory_id AND memories.source IN ('extracted', 'inferred')
      AND (
          NOT EXISTS (
              SELECT FROM state.statement_sources AS other
              WHERE other.tenant_id = OLD.tenant_id AND other.memory_id = OLD.memory_id
          )
          OR NOT EXISTS (
              SELECT FROM state.statements
              WHERE statements.tenant_id = OLD.tenant_id AND statements.memory_id = OLD.memory_id
          )
      );
    RETURN NULL;
END
$$;
CALL mnemic.run_as_definer('mnemic.erase_without_source()', 'mnemic_definer');

CREATE OR REPLACE TRIGGER erase_without_source AFTER DELETE ON state.statement_sources FOR EACH ROW
EXECUTE FUNCTION mnemic.erase_without_source();
