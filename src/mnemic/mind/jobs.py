"""The job that learns strategies from tool calls, once an hour."""

from mnemic.mind.pattern_mining import PATTERNS, mine_patterns
from mnemic.runtime.job_types import DefaultSchedule, JobTable, JobType

HOUR_S = 60 * 60

JOBS = JobTable((JobType(PATTERNS, mine_patterns, DefaultSchedule("patterns", every_s=HOUR_S)),))
