-- Sets the owner who may decide about a pair of memories (near duplicates, or a memory and the one that outdates it), so that
-- the pairs of one owner are found by an index; NULL if one of them is a turn or a part of a longer text.
CREATE OR REPLACE FUNCTION mnemic.set_review_owner() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    given CONSTANT jsonb := to_jsonb(NEW);
BEGIN
    SELECT CASE WHEN bool_and(memories.conversation IS NULL AND memories.whole_id IS NULL) THEN min(memories.owner) END
    INTO NEW.review_owner
    FROM state.memories
    WHERE memories.tenant_id = NEW.tenant_id
      AND memories.memory_id IN (
          coalesce(given ->> 'memory_id', given ->> 'newer_id')::uuid, coalesce(given ->> 'like_id', given ->> 'older_id')::uuid
      );
    RETURN NEW;
END
$$;

CREATE OR REPLACE TRIGGER set_review_owner BEFORE INSERT ON state.near_duplicates FOR EACH ROW
EXECUTE FUNCTION mnemic.set_review_owner();
CREATE OR REPLACE TRIGGER set_review_owner BEFORE INSERT ON state.outdated_memories FOR EACH ROW
EXECUTE FUNCTION mnemic.set_review_owner();
