"""The job that delivers an event, and the fan-out that every worker runs once a second."""

from mnemic.runtime.job_types import JobTable, JobType
from mnemic.webhooks.delivery import DELIVER, deliver, fan_out_webhooks

JOBS = JobTable((JobType(DELIVER, deliver),), periodic=(fan_out_webhooks,))
