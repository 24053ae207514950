"""Replays a session under a policy: tokens, cost with the prompt cache, names and edits missed, faults.

No model runs: the recorded responses stand for what the agent would have needed. A name of a result that
a response uses for the first time has to be somewhere in the prompt; the lines that an edit replaces have
to be in the prompt, too. What is missing is a fault: the text is appended at the end of the prompt, at the
price of another round trip.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from bench.context.policies import Policy, Sent, is_pageable
from bench.context.transcripts import Call, Edit, Session, tokens_of
from mnemic.context.entry import Entry

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{6,}|[0-9a-f]{7,40}|/[\w./-]{6,}")
READ_USD, WRITE_USD, OUTPUT_USD = 0.5e-6, 6.25e-6, 25e-6
"""Prices per token of a large model: cached input, input that is cached now, output."""
CACHE_S = 300
COMMON_HOLDERS = 6
"""A name that more results hold is a common word of the project."""
LINE_MIN_CHARS = 12
FAULT_OUTPUT_TOKENS = 120
FILE_TOOLS = ("Read", "Edit", "Write")


@dataclass
class Measured:
    """What one session cost under one policy."""

    session: str
    policy: str
    calls: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    fault_input_tokens: int = 0
    """Tokens that the round trips of faults read once more; not part of `input_tokens`."""
    peak_tokens: int = 0
    cost_usd: float = 0.0
    names: int = 0
    names_missed: int = 0
    names_untraced: int = 0
    """Names missed whose every holder is gone without a trace."""
    names_listed: int = 0
    """Names shown only by a shortened text."""
    edits: int = 0
    edits_missed: int = 0
    faults: int = 0
    rewrites: int = 0
    """Requests that changed something already sent."""
    seconds: list[float] = field(default_factory=list)
    """Time of each decision."""
    prompt_tokens: list[int] = field(default_factory=list)


@dataclass(slots=True)
class _Item:
    """One piece of the prompt as the provider sees it."""

    entry: Entry
    shown: str
    tokens: int
    names: frozenset[str]
    is_pageable: bool


class FaultHandler:
    """How text comes back without a memory: the agent runs the tool again."""

    is_pageable = True
    """Whether the policy may shorten the text that came back, as any other result."""

    def micro(self, entry: Entry, names: list[str]) -> str:
        """The text that is appended because names are missing."""
        return entry.text

    def edit(self, entry: Entry, needed: list[str]) -> str:
        """The text that is appended because lines to edit are missing."""
        return entry.text


class Replay:
    """One session under one policy."""

    def __init__(self, session: Session, policy: Policy, names: "NamesCache") -> None:
        self.session, self.policy, self._names = session, policy, names
        self.measured = Measured(session.name, policy.name)
        self._entries: list[Entry] = []
        self._items: list[_Item] = []
        self._position: dict[str, int] = {}
        self._shown_names: Counter[str] = Counter()
        self._holders: defaultdict[str, list[int]] = defaultdict(list)
        self._used: set[str] = set()
        self._tokens = session.fixed_tokens
        self._sent = 0
        self._lowered: Mapping[str, str] = {}
        self._faults = policy if isinstance(policy, FaultHandler) else FaultHandler()

    def run(self) -> Measured:
        """Replay every call."""
        for call in self.session.calls:
            for entry in call.new:
                self._append(entry, entry.text)
                self._entries.append(entry)
            sent = self.policy.send(self._entries, call, self._tokens)
            self._request(sent, call)
            self._respond(call)
        return self.measured

    def _append(self, entry: Entry, shown: str) -> None:
        position = len(self._items)
        names = self._names.of(shown)
        item = _Item(entry, shown, tokens_of(shown), names, is_pageable(entry))
        self._items.append(item)
        self._position[entry.key] = position
        self._shown_names.update(names)
        self._tokens += item.tokens
        if item.is_pageable or entry.key.startswith("fault"):
            for name in names:
                self._holders[name].append(position)

    def _request(self, sent: Sent, call: Call) -> None:
        """Count the tokens of a request: those before the first change are cached."""
        measured, before = self.measured, self._tokens
        first_changed = self._sent
        for key, text in sent.replaced.items():
            if self._items[self._position[key]].shown is not text:
                position = self._position[key]
                self._show(position, text)
                first_changed = min(first_changed, position)
        for position in self._raised(sent):
            self._show(position, self._items[position].entry.text)
            first_changed = min(first_changed, position)
        if sent.summary:
            self._append(Entry(f"summary{measured.calls}", "user", sent.summary), sent.summary)
            measured.cost_usd += before * READ_USD + sent.extra_output_tokens * OUTPUT_USD
            measured.input_tokens += before
        measured.rewrites += first_changed < self._sent
        is_cold = call.gap_s > CACHE_S or measured.calls == 0
        cached = 0 if is_cold else self.session.fixed_tokens + self._tokens_before(first_changed)
        written = self._tokens - cached
        measured.calls += 1
        measured.input_tokens += self._tokens
        measured.cached_tokens += cached
        measured.peak_tokens = max(measured.peak_tokens, self._tokens)
        measured.prompt_tokens.append(self._tokens)
        measured.cost_usd += cached * READ_USD + written * WRITE_USD + tokens_of(call.response) * OUTPUT_USD
        measured.seconds.append(sent.seconds)
        self._sent = len(self._items)

    def _raised(self, sent: Sent) -> list[int]:
        """Positions of items that are sent in full again."""
        raised = [self._position[key] for key in self._lowered if key not in sent.replaced]
        self._lowered = sent.replaced
        return raised

    def _tokens_before(self, position: int) -> int:
        return sum(item.tokens for item in self._items[:position])

    def _show(self, position: int, text: str) -> None:
        item = self._items[position]
        self._shown_names.subtract(item.names)
        self._tokens -= item.tokens
        item.shown, item.names = text, self._names.of(text)
        item.tokens = tokens_of(text) if text else 0
        self._shown_names.update(item.names)
        self._tokens += item.tokens

    def _respond(self, call: Call) -> None:
        """Find what the response needs and the prompt lacks; the object that lacks most is faulted."""
        missing: Counter[int] = Counter()
        missed_names: defaultdict[int, list[str]] = defaultdict(list)
        for name in sorted(self._names.of(call.response)):  # The same order in every run.
            holders = self._holders.get(name)
            if not holders or name in self._used or len(holders) > COMMON_HOLDERS:
                continue
            self._used.add(name)
            self._count_name(name, holders, missing, missed_names)
        needed: dict[int, list[str]] = {}
        for edit in call.edits:
            needed |= self._missed_edit(edit)
        missing.update(dict.fromkeys(needed, 5))
        if missing:
            position = max(missing, key=lambda each: missing[each])
            self._fault(position, missed_names[position], needed.get(position))

    def _count_name(
        self, name: str, holders: list[int], missing: Counter[int], missed: defaultdict[int, list[str]]
    ) -> None:
        measured = self.measured
        measured.names += 1
        if self._shown_names[name] > 0:
            shown_in_full = any(name in self._items[each].names and self._is_full(each) for each in holders)
            measured.names_listed += not shown_in_full
            return
        measured.names_missed += 1
        measured.names_untraced += all(not self._items[each].shown for each in holders)
        missing[max(holders)] += 1
        missed[max(holders)].append(name)

    def _is_full(self, position: int) -> bool:
        item = self._items[position]
        return item.shown is item.entry.text

    def _missed_edit(self, edit: Edit) -> dict[int, list[str]]:
        """Positions of the file's texts that hold lines which the edit needs and the prompt lacks."""
        lines = [line.strip() for line in edit.old_text.split("\n") if len(line.strip()) > LINE_MIN_CHARS]
        held = [
            position
            for position, item in enumerate(self._items)
            if item.entry.role == "result" and self._path(item.entry) == edit.path
        ]
        needed = [line for line in lines if any(line in self._items[each].entry.text for each in held)]
        if not needed:
            return {}
        self.measured.edits += 1
        lacking = [line for line in needed if not self._shows(line, held)]
        if not lacking:
            return {}
        self.measured.edits_missed += 1
        return {
            each: lacking for each in held if any(line in self._items[each].entry.text for line in needed)
        }

    def _shows(self, line: str, held: list[int]) -> bool:
        if any(line in self._items[each].shown for each in held):
            return True
        return any(
            line in item.entry.text for item in self._items if item.entry.role in ("assistant", "call")
        )

    @staticmethod
    def _path(entry: Entry) -> str:
        return str(entry.arguments.get("file_path") or "") if entry.tool in FILE_TOOLS else ""

    def _fault(self, position: int, names: list[str], lines: list[str] | None) -> None:
        """Append what was missing at the end of the prompt, at the price of one more round trip."""
        entry, measured = self._items[position].entry, self.measured
        text = self._faults.edit(entry, lines) if lines else self._faults.micro(entry, names)
        measured.faults += 1
        measured.fault_input_tokens += self._tokens
        measured.cost_usd += self._tokens * READ_USD + tokens_of(text) * WRITE_USD
        measured.cost_usd += FAULT_OUTPUT_TOKENS * OUTPUT_USD
        again = replace(entry, key=f"fault{measured.faults}", text=text, is_pageable=self._faults.is_pageable)
        self._append(again, text)
        if again.is_pageable:
            self._entries.append(again)


class NamesCache:
    """Names of texts, kept while the policies replay the same session."""

    def __init__(self) -> None:
        self._names: dict[str, frozenset[str]] = {}

    def of(self, text: str) -> frozenset[str]:
        names = self._names.get(text)
        if names is None:
            names = self._names[text] = frozenset(NAME.findall(text))
        return names
