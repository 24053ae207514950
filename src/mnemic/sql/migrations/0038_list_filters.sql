-- Lists of memories that few match, and lists as of a time (mnemic.list_memories).
--
-- The index in which a list is read also has the columns that lists are filtered by, so that a rare value is found without
-- reading the memories. No column is added that changes more often than those that indexes have already.
DROP INDEX state.memories_recent;
CREATE INDEX memories_recent ON state.memories (tenant_id, owner, memory_id DESC) INCLUDE (category, status, source, role);

-- Ids ascend with the time at which memories are stored, so a list as of a time reads only ids from before it. These are
-- the exceptions: memories that an import stored later than they were first recorded.
CREATE INDEX memories_backdated ON state.memories (tenant_id, owner, memory_id)
WHERE mnemic.is_backdated(memory_id, created_at);
