"""What to compare with: full context, sliding window, clearing of old results, masking, compaction.

A policy says for every request which entries are not sent as they are, and what is sent instead. An empty
text means that the entry is gone without a trace.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from bench.context.transcripts import Call, tokens_of
from mnemic.context.entry import Entry
from mnemic.context.levels.kinds import kind_of, source_key
from mnemic.context.levels.level import Source
from mnemic.context.levels.shortening import make_level

PAGE_MIN_CHARS = 400
"""Shorter results are never replaced, by no policy."""
SUMMARY_OUTPUT_TOKENS = 4_500
SUMMARY_CHARS = 15_000


@dataclass(frozen=True, slots=True)
class Sent:
    """What is sent for a request."""

    replaced: Mapping[str, str]
    """Texts instead of those of the entries, by key."""
    summary: str = ""
    """Text that is added, once, at the end."""
    extra_output_tokens: int = 0
    """Tokens of another request that the policy needed, which reads the whole prompt."""
    seconds: float = 0.0


class Policy(Protocol):
    """One way to keep a prompt short."""

    name: str

    def send(self, entries: Sequence[Entry], call: Call, tokens: int) -> Sent:
        """What is sent, given all entries so far and the tokens of the prompt as it was last sent."""


def is_pageable(entry: Entry) -> bool:
    """Whether policies may replace an entry."""
    return entry.is_pageable and len(entry.text) >= PAGE_MIN_CHARS


def stub(entry: Entry) -> str:
    """One line that says what was there."""
    kind = kind_of(entry.tool, entry.arguments, entry.text)
    key = source_key(entry.tool, entry.arguments)
    return make_level(Source(entry.text, kind, entry.tool, key, entry.is_error), 3).text


@dataclass
class Full:
    """Everything is sent, always."""

    name: str = "full context"

    def send(self, entries: Sequence[Entry], call: Call, tokens: int) -> Sent:
        return Sent({})


@dataclass
class Sliding:
    """The oldest results vanish once the prompt is over its budget."""

    name: str = "sliding window, 100 k"
    budget_tokens: int = 100_000
    gone: dict[str, str] = field(default_factory=dict)

    def send(self, entries: Sequence[Entry], call: Call, tokens: int) -> Sent:
        for entry in entries[:-4]:
            if tokens <= self.budget_tokens:
                break
            if is_pageable(entry) and entry.key not in self.gone:
                self.gone[entry.key] = ""
                tokens -= tokens_of(entry.text)
        return Sent(dict(self.gone))


@dataclass
class Clearing:
    """Old results are cleared once the prompt is over a mark, except the newest, as providers offer it."""

    name: str = "clearing of old results, 100 k"
    trigger_tokens: int = 100_000
    kept: int = 3
    cleared_min_tokens: int = 0
    cleared: dict[str, str] = field(default_factory=dict)

    def send(self, entries: Sequence[Entry], call: Call, tokens: int) -> Sent:
        if tokens > self.trigger_tokens:
            results = [entry for entry in entries if is_pageable(entry)][: -self.kept]
            fresh = {entry.key: stub(entry) for entry in results if entry.key not in self.cleared}
            freed = sum(
                tokens_of(entry.text) - tokens_of(fresh[entry.key]) for entry in results if entry.key in fresh
            )
            if freed >= self.cleared_min_tokens:
                self.cleared |= fresh
        return Sent(dict(self.cleared))


@dataclass
class Masking:
    """Results older than some calls are replaced by one line, in every call."""

    name: str = "masking all but 10 calls"
    calls_kept: int = 10
    seen: dict[str, int] = field(default_factory=dict)
    masked: dict[str, str] = field(default_factory=dict)
    call: int = 0

    def send(self, entries: Sequence[Entry], call: Call, tokens: int) -> Sent:
        for entry in entries[len(self.seen) :]:
            self.seen[entry.key] = self.call
        for entry in entries:
            is_old = self.call - self.seen[entry.key] > self.calls_kept
            if is_old and entry.key not in self.masked and is_pageable(entry) and not entry.is_error:
                self.masked[entry.key] = stub(entry)
        self.call += 1
        return Sent(dict(self.masked))


@dataclass
class Compaction:
    """At the mark everything is summarised, as coding agents do; an extractive imitation of the summary."""

    name: str = "compaction at 155 k"
    trigger_tokens: int = 155_000
    gone: dict[str, str] = field(default_factory=dict)

    def send(self, entries: Sequence[Entry], call: Call, tokens: int) -> Sent:
        if tokens <= self.trigger_tokens:
            return Sent(dict(self.gone))
        self.gone |= {entry.key: "" for entry in entries[:-2]}
        return Sent(dict(self.gone), _summary(entries), tokens, SUMMARY_OUTPUT_TOKENS)


def _summary(entries: Sequence[Entry]) -> str:
    """The user's last words, the files, and the assistant's last words."""
    files = [
        source_key(entry.tool, entry.arguments)
        for entry in entries
        if entry.tool in ("Read", "Edit", "Write")
    ]
    user = [entry.text[:400] for entry in entries if entry.role == "user"][-12:]
    said = [entry.text[:1500] for entry in entries if entry.role == "assistant"][-4:]
    return "\n".join([*user, *list(dict.fromkeys(files))[-60:], *said])[:SUMMARY_CHARS]
