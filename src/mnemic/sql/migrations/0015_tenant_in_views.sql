-- The views of records get the column tenant_id. A view that exists cannot get a column in the middle, so these are dropped,
-- with the function that returns their rows; the definitions create them again.

DROP FUNCTION IF EXISTS mnemic.recall_records(uuid, uuid[]);
DROP VIEW IF EXISTS state.memory_history, state.memory_records, state.entity_records;
