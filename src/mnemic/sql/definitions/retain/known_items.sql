-- mnemic.known_memories for items that are given as the JSON rows of mnemic.insert_memories: `item_ids` are the ids that
-- the items would have got, `known_ids` the memories that the owner has already. NULL if none is known.
CREATE OR REPLACE FUNCTION mnemic.known_items(
    entered uuid, for_owner text, in_channel text, items json,
    OUT item_ids uuid[], OUT known_ids uuid[], OUT forgotten_at timestamptz[]
)
LANGUAGE plpgsql
AS $$
DECLARE
    given record;
BEGIN
    -- A turn of a conversation is known by its external id alone.
    SELECT
        array_agg(item.memory_id ORDER BY item.index) AS ids,
        array_agg(item.index) FILTER (WHERE item.external_id IS NOT NULL) AS external_indexes,
        array_agg(item.external_id) FILTER (WHERE item.external_id IS NOT NULL) AS external_ids,
        array_agg(item.index) FILTER (WHERE item.content_hash IS NOT NULL) AS hash_indexes,
        string_agg(encode(item.content_hash, 'hex'), ' ') AS hashes
    INTO given
    FROM (
        SELECT
            row_number() OVER ()::int AS index, listed.memory_id, listed.external_id,
            CASE WHEN listed.category <> 'episodic' OR listed.conversation IS NULL THEN mnemic.content_hash(
                listed.content, listed.category, listed.conversation, NULL, decode(listed.whole_hash, 'hex'),
                listed.chunk_index
            ) END AS content_hash
        FROM json_to_recordset(items) AS listed (
            memory_id uuid, external_id text, content text, category text, conversation text, whole_hash text, chunk_index int
        )
    ) AS item;
    -- EXECUTE, because a plan that was made while the table was small must not be kept.
    EXECUTE
        'SELECT array_agg($1[known.index]), array_agg(known.memory_id), array_agg(known.forgotten_at)'
        ' FROM mnemic.known_memories($2, $3, $4, $5, $6, $7, $8) AS known'
    INTO item_ids, known_ids, forgotten_at
    USING given.ids, entered, for_owner, given.external_indexes, given.external_ids, given.hash_indexes, given.hashes,
        mnemic.branch_of(entered, for_owner, in_channel);
END
$$;
