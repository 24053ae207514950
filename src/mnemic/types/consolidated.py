"""The result of `consolidate`."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Consolidated:
    """What a pass of consolidation has read and learnt.

    `source_count` counts turns, notes and chunks of documents that were read for the first time;
    `statement_count` new statements, `repeated_count` statements that were known, `rejected_count` proposals
    that were not accepted. `superseded_count` counts statements that others replaced.
    """

    conversation_count: int = 0
    source_count: int = 0
    statement_count: int = 0
    repeated_count: int = 0
    rejected_count: int = 0
    superseded_count: int = 0
    summary_count: int = 0
