"""The job types of all features, combined. A new feature adds its table here."""

from mnemic.documents import jobs as documents
from mnemic.embeddings import jobs as embeddings
from mnemic.maintenance import jobs as maintenance
from mnemic.promotion import jobs as promotion
from mnemic.runtime.job_types import combine
from mnemic.webhooks import jobs as webhooks

JOBS = combine(documents.JOBS, embeddings.JOBS, maintenance.JOBS, promotion.JOBS, webhooks.JOBS)
