"""The result of `consolidate`."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Consolidated:
    """What a pass of consolidation has read and learnt.

    `source_count` counts turns, notes and chunks of documents that were read for the first time;
    `statement_count` new statements, `repeated_count` statements that were known, `rejected_count` proposals
    that were not accepted. `superseded_count` counts statements that others replaced. `failed_count` counts
    batches that a language model could not read; they are read again in the next pass.
    """

    conversation_count: int = 0
    source_count: int = 0
    statement_count: int = 0
    repeated_count: int = 0
    rejected_count: int = 0
    superseded_count: int = 0
    summary_count: int = 0
    failed_count: int = 0
