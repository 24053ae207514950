"""Whatever a session does: append-only within an epoch, protections hold, a restart changes nothing."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.context.entry import Entry
from mnemic.context.policy.settings import PagingSettings
from mnemic.context.step import SavedWindow, Step
from mnemic.context.window import Window

START = datetime(2026, 1, 1, tzinfo=UTC)
PAGING = PagingSettings(
    budget_tokens=20_000,
    epoch_min_tokens=1_000,
    faults_margin=0.0,
    file_calls=3,
    used_calls=4,
    edited_calls=5,
)
COLD_S, WARM_S = 400, 5
FIXED_TOKENS = 500


@dataclass(frozen=True, slots=True)
class Turn:
    """One request: what was called, and what happened before it."""

    tool: str
    which: int
    lines: int
    is_error: bool
    is_late: bool
    at_user_turn: bool
    faults: bool
    pins: bool

    def entries(self, number: int) -> list[Entry]:
        name = "command" if self.tool == "Bash" else "file_path"
        arguments = {name: f"/src/file_{self.which}.py"}
        text = "\n".join(f"{n}\tname_{self.which}_{n} = {number % 3}" for n in range(self.lines))
        return [
            Entry(f"c{number}", "call", str(arguments), self.tool, arguments),
            Entry(f"r{number}", "result", text, self.tool, arguments, self.is_error, is_pageable=True),
        ]


TURNS = st.lists(
    st.builds(
        Turn,
        tool=st.sampled_from(("Read", "Edit", "Bash", "Grep")),
        which=st.integers(0, 4),
        lines=st.integers(1, 100),
        is_error=st.integers(0, 9).map(lambda n: n == 0),
        is_late=st.integers(0, 5).map(lambda n: n == 0),
        at_user_turn=st.integers(0, 3).map(lambda n: n == 0),
        faults=st.integers(0, 5).map(lambda n: n == 0),
        pins=st.integers(0, 9).map(lambda n: n == 0),
    ),
    min_size=2,
    max_size=20,
)


class Session:
    """Requests to one window; with `restarts`, every request meets a window made from what was saved."""

    def __init__(self, *, restarts: bool = False) -> None:
        self.window, self.restarts = Window(PAGING), restarts
        self.entries: list[Entry] = []
        self.now = START
        self.pinned: set[str] = set()
        self.first_calls: dict[str, int] = {}

    def request(self, number: int, turn: Turn) -> Step:
        if self.restarts:
            self.window = Window(PAGING, self.window.saved())
        self.entries += turn.entries(number)
        self.first_calls[f"r{number}"] = number
        self.now += timedelta(seconds=COLD_S if turn.is_late else WARM_S)
        step = self.window.observe(
            self.entries, fixed_tokens=FIXED_TOKENS, now=self.now, at_user_turn=turn.at_user_turn
        )
        if turn.faults:
            self.window.fault("r0", "micro", "name")
        if turn.pins:
            self.window.pin(f"r{number}")
            self.pinned.add(f"r{number}")
        return step


@settings(max_examples=25, deadline=None)
@given(turns=TURNS)
def test_prompts_only_grow_within_an_epoch(turns: list[Turn]) -> None:
    session, before = Session(), dict[str, str]()
    for number, turn in enumerate(turns):
        other = FIXED_TOKENS + session.window.saved().appended_tokens
        step = session.request(number, turn)
        if step.epoch is None:
            assert not step.transitions
            assert {key: step.replaced.get(key) for key in before} == before
            assert set(step.replaced) - set(before) <= {f"r{number}"}
        before = dict(step.replaced)
        shown = sum(len(step.replaced.get(each.key, each.text)) for each in session.entries)
        assert abs(shown * session.window.tokens_per_char + other - step.tokens) <= 1


@settings(max_examples=25, deadline=None)
@given(turns=TURNS)
def test_pinned_new_and_failed_objects_are_protected(turns: list[Turn]) -> None:
    session = Session()
    failed = {f"r{number}" for number, turn in enumerate(turns) if turn.is_error}
    for number, turn in enumerate(turns):
        pinned = set(session.pinned)
        before = session.window.saved().objects
        step = session.request(number, turn)
        full = {each.key for each in before if each.level == 0}
        assert not pinned & full & set(step.replaced)
        for each in step.transitions:
            assert each.to_level <= 1 or each.key not in failed or "superseded" in each.reason
            age = number - session.first_calls[each.key]
            assert age >= PAGING.protected_calls or "superseded" in each.reason or step.zone == "emergency"


@settings(max_examples=25, deadline=None)
@given(turns=TURNS)
def test_a_restarted_window_decides_the_same(turns: list[Turn]) -> None:
    one, restarted = Session(), Session(restarts=True)
    for number, turn in enumerate(turns):
        assert one.request(number, turn) == restarted.request(number, turn)
        assert one.window.saved() == restarted.window.saved()
    assert SavedWindow() == Window(PAGING, SavedWindow()).saved()
