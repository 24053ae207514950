-- The proxy sees every tool call of a conversation again in each later request: the id that the model gave to a call keeps it
-- from being recorded twice.
ALTER TABLE state.tool_invocations
ADD COLUMN call_id text CHECK (char_length(call_id) BETWEEN 1 AND 512);
CREATE UNIQUE INDEX tool_invocations_call ON state.tool_invocations (tenant_id, owner, conversation, call_id)
WHERE call_id IS NOT NULL;
