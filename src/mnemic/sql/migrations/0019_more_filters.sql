-- More filters of a recall. A memory needs all of `metadata`, which it may nest and add to (jsonb containment).
ALTER TYPE mnemic.recall_filter
    ADD ATTRIBUTE role text,
    ADD ATTRIBUTE name text,
    ADD ATTRIBUTE source text,
    ADD ATTRIBUTE metadata jsonb;
-- For recall by metadata, which also finds the chunks of a document. Memories without metadata, mostly turns, are left out,
-- so that writing them costs nothing.
CREATE INDEX memories_metadata ON state.memories USING gin (mnemic.scope_key(tenant_id, owner), metadata jsonb_path_ops)
WITH (gin_pending_list_limit = 512)
WHERE metadata <> '{}';
ALTER INDEX state.memories_metadata ALTER COLUMN 1 SET STATISTICS 0;
