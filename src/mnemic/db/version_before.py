"""Carries a database of the version before the baseline over to it.

Until the baseline, the schema grew by 28 migrations that held tables and functions together. The baseline
makes the same catalog from fewer files, so a database that has exactly those 28 needs no change to its
tables: the record of migrations is rewritten, and the definitions are applied over the functions, triggers,
views and policies that are there. Names that have changed since then are dropped, as those of a definition
whose file is gone.

A database that has only some of the 28 is refused: the files that it lacks are not part of this version.
"""

from collections.abc import Sequence

from mnemic.errors import NotMigratedError
from mnemic.sql.migration_files import CORE_SET, Migration

BASELINE_COUNT = 12
"""The first so many files create the same catalog as the 28."""

RECORD_NAME = "version before the baseline"
"""The old functions, triggers, views and policies are recorded as one definition of this name."""


def carried_over(applied: Sequence[tuple[int, str]], files: Sequence[Migration]) -> tuple[Migration, ...]:
    """The files that replace the migrations of the version before; empty for a database of another version.

    `applied` has number and checksum of Mnemic's own migrations in the database. NotMigratedError if it has
    only some of those that it would need.
    """
    known = list(enumerate(CHECKSUMS, start=1))
    if not applied or list(applied) != known[: len(applied)]:
        return ()
    if len(applied) < len(known):
        raise NotMigratedError(
            "The database was made by a development version of Mnemic that is too old to be migrated "
            f"({len(applied)} of {len(known)} migrations). Export it with that version "
            "(`mnemic export`) and import the file into a new database with this one (`mnemic import`)."
        )
    return tuple(file for file in files if file.set_name == CORE_SET and file.number <= BASELINE_COUNT)


CHECKSUMS = (
    "9441a26999f7bd64df43982d9db27d24457e33bda441fe24e8f020ac5b0e64b1",
    "b30b1b1810a7a18d061d476a7917b69563aefa603ff55bcd76e69c074b62fa31",
    "b6f6b7cc7635d84f63941c44c8873ca3fa8fd0ae4beb47e63da313a495e105a9",
    "62235125e0edb3cb1cf0c7cf9f2dc2e9c6b95629a735d08f3f85eda55a3f500d",
    "3586037ef7fccd31777121d80024a68066fadf04b2ffe8042dffd95b520942da",
    "7afacbd1adc76f42e47ee8d385acfedd895d3001c32c4ad49b1d3f2bcdf02b69",
    "9256c25cdc2b2c79ba71da5d86ce287d5b552c15cf3aee23b2f90a3fb4e68685",
    "557e9c2e4f6b4e9d3580ed22a2079f5dd2c3f306c2124121695d4a37f9df25e9",
    "abeb2bec96b93918dec3dc34f852411f64ecad73edbe5ee14e3f76141dfb0b74",
    "1382d3617a122ff794987aebb5217f5587d2897c88c08049dd056f53ba2fc4d1",
    "d66abdf109ea3c2e1dd48b3814fbd62fba44508bfbeae8d6c550089c0851d0a5",
    "4e8e8206ba9b6e71928a9b8a70445bb377b2e7b00c2fc23f351d713dc24558fb",
    "c04772ba06d74c7effe71a7ca1c5f8c520239aaa11863f87ee586c2d117b6146",
    "4b970470d84c2a832d29ea6403f71706cf3baca007c76ae61f2715fa94adfa16",
    "1f7962c4dc4883d64abcc9b53ab906bb5009a0f11f3381ccaa8239d977684e1e",
    "233495bd6c74918ebe6da249d338575364140fc0a4672a029083e847666eaa5b",
    "f3fa6213dd7480428b2cd0da7d311dfb86a1a9f13fdb68c2d63ca55ad9b353b9",
    "6d5dcfc0a902b3538c52441703f0153cac7f3c526efb181749e12f6144cdb26b",
    "59d15a2100ea9839a0f1c4c71e85a84eee58c8167ea69038a62d92b1ef39c68f",
    "38f810d8a69f58bb73d59c61fc1d8e795a9aba0a689272413fe3e4bb9ad113ec",
    "da3785e2fdcb8805f4bbc3a488adecc9cc615eae34ef3dd1029478b4830b4031",
    "9a3d000543c70d832d4e21bd94092b453b88c51b700e2bcc4385e752e67ef759",
    "639f8f417b99aa7df413f77a0d944e9067da305e92c9b8c6856f98239878e631",
    "fc068549a43800e9320496fbadda3d5bd8df8ee8dd471639a3a9d17e6d27bfcf",
    "e90332cf1e76bfc65554f9bb1c25ec9341f9b265dd20a3cd46c436cf9a831406",
    "fcb51669d6916db2732b8277b5568c4a3cf925549045bb1388554078db461844",
    "f02dd0e9f6cf6360b4c107b55b2449952408a5bedec03d972ea4823969688371",
    "4c59e01ee3aa085813bde95cc4361623214df78211b124d491c806ccb16b122f",
)

_ROUTINES = """
add_tick adopt_model are_tags beat begin_model_change bury_unknown_jobs cancel_job claim_jobs compare_memories
content_hash cron_tick current_tenant drop_events drop_log_partitions drop_old_logs drop_vectors
drop_webhook_deliveries end_imported_grant end_imported_key enter erase_owner evidence export_rows
find_filtered find_key find_words first_schedules forget_webhook_secrets give_first_schedules has_keys
held_jobs hint hint_jobs hold_mentions hold_model import_rows insert_memories insert_vectors join_workers
keep_version leave_pg_cron list_reembedding list_workers make_log_partitions make_login may_tick
memories_with_phrases memory_told mentions_lock model_lock moment name_key nearest new_id open_vectors
owned_tables passes process promote_jobs protect prune_jobs recall_cosines recall_near recall_records
recall_terms recall_vectors recall_words refresh_statistics refuse_reviving refuse_reviving_key replay_job
report_jobs require_working rescue_jobs retain_alone retry_delay return_jobs rotate_webhook_secret
run_due_schedules schedule_tick scope_key seal seal_again sequence_events settle_jobs share_mentions signature
stop_imported_job store_memories strike_worker switch_model take_turn tell_changed_memory tell_entities
tell_memories tell_relations tell_state_documents tenant_names tenants_behind_webhooks tenants_with_jobs
ticks_on use_pg_cron vectors_in_use verified working_metrics write_memory_log
"""
_VIEWS = """
queue.all_attempts
queue.all_jobs
state.entity_records
state.memory_history
state.memory_records
traces.dead_xrefs
traces.growth_7d
traces.metrics_24h
traces.stale_active
traces.tenant_summary
"""
_TRIGGERS = """
end_imported_grant ON state.grants
end_imported_key ON state.api_keys
give_first_schedules ON state.tenants
hint_jobs ON queue.jobs
hint_jobs ON queue.schedules
keep_version ON state.memories
refuse_reviving ON state.grants
refuse_reviving_key ON state.api_keys
stop_imported_job ON queue.jobs
tell_changed ON state.entities
tell_changed ON state.entity_relations
tell_changed ON state.memories
tell_changed ON state.state_documents
tell_created ON state.entities
tell_created ON state.entity_relations
tell_created ON state.memories
tell_created ON state.state_documents
tell_deleted ON state.entities
tell_deleted ON state.entity_relations
tell_deleted ON state.memories
tell_deleted ON state.state_documents
"""
_POLICIES = """
definer_counts ON vectors.tenant_models
definer_searches ON state.memories
definer_searches ON state.memory_versions
given_at_birth ON queue.schedules
measuring ON queue.event_consumers
measuring ON queue.event_inbox
measuring ON queue.event_logs
opening ON state.tenants
proven_key ON state.api_keys
proven_key ON state.tenants
same_tenant ON state.tenants
serving_webhooks ON queue.event_inbox
serving_webhooks ON queue.event_logs
serving_webhooks ON queue.webhooks
ticking ON queue.job_keys
ticking ON queue.schedules
told_by_triggers ON queue.event_inbox
told_by_triggers ON queue.uncompared
working ON queue.attempts
working ON queue.finished_jobs
working ON queue.job_keys
working ON queue.jobs
working ON state.tenants
"""

OBJECTS = (
    *(f"ROUTINE mnemic.{name}" for name in _ROUTINES.split()),
    *(f"VIEW {name}" for name in _VIEWS.split()),
    *(f"TRIGGER {line}" for line in _TRIGGERS.strip().splitlines()),
    *(f"POLICY {line}" for line in _POLICIES.strip().splitlines()),
)
"""Objects that the 28 migrations created besides tables, as in `Definition.objects`."""
