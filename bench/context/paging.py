"""The pager in a replay: the same `Window` as in the proxy."""

import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from bench.context.policies import Sent
from bench.context.replay import FaultHandler
from bench.context.transcripts import CHARS_PER_TOKEN, Call, Session, tokens_of
from mnemic.context.entry import Entry
from mnemic.context.levels.kinds import source_key
from mnemic.context.levels.passages import find_passage
from mnemic.context.policy.settings import PagingSettings
from mnemic.context.step import SavedWindow
from mnemic.context.window import Window

BUDGET_TOKENS = 280_000
"""A window of 200,000 tokens: the estimate of tokens is 1.4 times what the provider reported."""
START = datetime(2026, 1, 1, tzinfo=UTC)


class Paging(FaultHandler):
    """Every request goes through a window; faults are those of the proxy."""

    name = "Mnemic"
    is_pageable = False

    def __init__(self, session: Session, settings: PagingSettings | None = None) -> None:
        self.window = Window(
            settings or PagingSettings(budget_tokens=BUDGET_TOKENS),
            SavedWindow(tokens_per_char=1 / CHARS_PER_TOKEN),
        )
        self._fixed_tokens = session.fixed_tokens
        self._now = START

    def send(self, entries: Sequence[Entry], call: Call, tokens: int) -> Sent:
        self._now += timedelta(seconds=call.gap_s)
        began = time.thread_time()  # Other processes share the machine.
        step = self.window.observe(
            entries, fixed_tokens=self._fixed_tokens, now=self._now, at_user_turn=call.at_user_turn
        )
        seconds = time.thread_time() - began
        return Sent(step.replaced, seconds=seconds)

    def micro(self, entry: Entry, names: list[str]) -> str:
        if not entry.key.startswith("fault"):
            self.window.fault(entry.key, "micro", " ".join(names))
        return find_passage(entry.text, " ".join(names), path=source_key(entry.tool, entry.arguments)).text

    def edit(self, entry: Entry, needed: list[str]) -> str:
        if not entry.key.startswith("fault"):
            self.window.fault(entry.key, "edit")
        if tokens_of(entry.text) < 8_000:
            return entry.text
        path = source_key(entry.tool, entry.arguments)
        return find_passage(entry.text, "\n".join(needed), 1_200, path=path).text
