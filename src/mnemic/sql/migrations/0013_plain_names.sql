-- Tables whose old name did not say what they hold.

ALTER TABLE queue.uncompared RENAME TO deduplication_backlog;
ALTER TABLE queue.deduplication_backlog RENAME CONSTRAINT uncompared_pkey TO deduplication_backlog_pkey;
COMMENT ON TABLE queue.deduplication_backlog IS 'Memories that were not yet compared with others of their owner.';
-- A database of the version before the baseline has it; the definition of today has another name.
DROP POLICY IF EXISTS told_by_triggers ON queue.deduplication_backlog;

-- Descriptions in the words of today.
COMMENT ON TABLE state.tenants IS 'The tenants of this database, separated by row-level security.';
COMMENT ON TABLE state.conversations IS 'Conversations of an owner; their turns are memories.';
COMMENT ON TABLE state.memories IS 'Everything that can be recalled, one row each.';
COMMENT ON TABLE state.memory_versions IS 'Earlier versions of memories; written by a trigger, never changed.';
COMMENT ON TABLE state.tool_invocations IS 'Tool calls in a conversation and their results.';
COMMENT ON TABLE state.entities IS 'Entities that an owner knows, one row each.';
COMMENT ON TABLE state.entity_names IS 'Names of entities: each one''s own name and its aliases.';
COMMENT ON TABLE state.entity_facts IS 'Current and earlier facts about entities; `memory_id` is the evidence.';
COMMENT ON TABLE state.entity_relations IS 'Relations between entities; both ends belong to one owner.';
COMMENT ON TABLE state.api_keys IS 'API keys: role, owner and hash; never the key itself.';
COMMENT ON TABLE queue.jobs IS 'Unfinished jobs.';
COMMENT ON TABLE queue.attempts IS 'Attempts at jobs that did not end the job.';
COMMENT ON TABLE queue.schedules IS 'Recurring jobs.';
COMMENT ON TABLE queue.events IS 'Published events, in the order in which they are read.';
COMMENT ON TABLE queue.event_inbox IS 'Events that have no position yet.';
COMMENT ON TABLE queue.event_consumers IS 'Named consumers of events and their positions.';
COMMENT ON TABLE queue.webhooks IS 'URLs that events are sent to.';
COMMENT ON TABLE queue.webhook_deliveries IS 'Delivery attempts of webhooks and their results.';
COMMENT ON TABLE queue.idempotent_requests IS 'Responses to requests that may be repeated, for a day.';
COMMENT ON TABLE mnemic.workers IS 'Registered workers and their heartbeats.';
COMMENT ON TABLE traces.audit_log IS 'Destructive actions: the intent before, the outcome after.';
COMMENT ON TABLE traces.memory_log IS 'Writes and reads, a row per call, a partition per day.';
COMMENT ON TABLE traces.snapshots IS 'Stored rows of the five overview views of each tenant.';
