-- Stores the verdict of one conversation on a memory of an owner, replaces an earlier one of the same conversation, and counts
-- the verdicts again. Beyond `most` verdicts the oldest ones are deleted. Returns false if the owner has no such memory. The
-- memory's row of counts is locked first, so that concurrent verdicts are all counted: each statement sees what was committed
-- before it.
CREATE OR REPLACE FUNCTION mnemic.give_feedback(
    of_tenant uuid, of_owner text, on_memory uuid, verdict text, in_conversation text, with_note text, by_process text, most int
) RETURNS boolean
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    INSERT INTO state.recall_counts AS kept (tenant_id, memory_id, retrieval_count)
    SELECT tenant_id, memory_id, 0 FROM state.memories
    WHERE tenant_id = of_tenant AND memory_id = on_memory AND owner = of_owner
    ON CONFLICT (tenant_id, memory_id) DO UPDATE SET retrieval_count = kept.retrieval_count;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    INSERT INTO state.memory_feedback AS kept (tenant_id, owner, memory_id, kind, conversation, note, process)
    VALUES (of_tenant, of_owner, on_memory, verdict, in_conversation, with_note, by_process)
    ON CONFLICT (tenant_id, memory_id, conversation) DO UPDATE
    SET kind = excluded.kind, note = coalesce(excluded.note, kept.note), process = excluded.process, at = excluded.at;
    DELETE FROM state.memory_feedback
    WHERE tenant_id = of_tenant AND memory_id = on_memory AND feedback_id IN (
        SELECT feedback_id FROM state.memory_feedback
        WHERE tenant_id = of_tenant AND memory_id = on_memory
        ORDER BY at DESC, feedback_id DESC
        OFFSET most
    );
    UPDATE state.recall_counts
    SET useful_count = given.useful_count, not_useful_count = given.not_useful_count, last_useful_at = given.last_useful_at
    FROM (
        SELECT
            count(*) FILTER (WHERE kind <> 'not_useful')::int AS useful_count,
            count(*) FILTER (WHERE kind = 'not_useful')::int AS not_useful_count,
            max(at) FILTER (WHERE kind <> 'not_useful') AS last_useful_at
        FROM state.memory_feedback
        WHERE tenant_id = of_tenant AND memory_id = on_memory
    ) AS given
    WHERE recall_counts.tenant_id = of_tenant AND recall_counts.memory_id = on_memory;
    RETURN true;
END
$$;
GRANT EXECUTE ON FUNCTION mnemic.give_feedback(uuid, text, uuid, text, text, text, text, int) TO mnemic_app;
