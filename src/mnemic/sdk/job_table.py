"""The job types of all features, combined. A new feature adds its table here."""

from mnemic.consolidation import jobs as consolidation
from mnemic.context import level_jobs as context_levels
from mnemic.context import session_jobs as context_sessions
from mnemic.curation import jobs as curation
from mnemic.documents import jobs as documents
from mnemic.embeddings import jobs as embeddings
from mnemic.maintenance import jobs as maintenance
from mnemic.memory_map import jobs as memory_map
from mnemic.mind import jobs as mind
from mnemic.promotion import jobs as promotion
from mnemic.runtime.job_types import combine
from mnemic.webhooks import jobs as webhooks

JOBS = combine(
    consolidation.JOBS,
    context_levels.JOBS,
    context_sessions.JOBS,
    curation.JOBS,
    documents.JOBS,
    embeddings.JOBS,
    maintenance.JOBS,
    memory_map.JOBS,
    mind.JOBS,
    promotion.JOBS,
    webhooks.JOBS,
)
