"""Whatever a session does, the provider accepts the paged prompt, and within an epoch it only grows.

A session is random: prompts, thinking, parallel calls, results of all sizes, pauses in which the provider's
cache goes cold, restarts of the proxy. Its window is small, so that it pages early.
"""

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mnemic.context.policy.settings import PagingSettings
from mnemic.context.step import Step
from mnemic.context.window import Window
from mnemic.proxy.apis import APIS
from mnemic.proxy.grown_bodies import KeptBody, ReadBody, keep, read_grown, read_whole
from mnemic.proxy.open_sessions import OpenSession, SessionName
from mnemic.proxy.paging import changes_of
from mnemic.proxy.protocol import Body, HiddenTool
from mnemic.proxy.thinking_cuts import cut_at_epoch
from tests.proxy.plain_clients import AnthropicClient, ChatClient, PlainClient, ResponsesClient, copied
from tests.proxy.upstream.anthropic_api import AnthropicApi
from tests.proxy.upstream.api import Api, Reading
from tests.proxy.upstream.chat_api import ChatApi
from tests.proxy.upstream.conversations import Conversations
from tests.proxy.upstream.identifiers import Identifiers
from tests.proxy.upstream.responses_api import ResponsesApi
from tests.proxy.upstream.rules import Rules
from tests.proxy.upstream.script import Call, Part, Text, Thinking

PAGING = PagingSettings(
    budget_tokens=6_000, protected_calls=2, edited_calls=2, used_calls=2, epoch_min_tokens=500
)
HIDDEN = (HiddenTool("recall", "Search the memory.", {"type": "object", "properties": {}}),)
COLD = timedelta(minutes=6)


@dataclass(frozen=True, slots=True)
class Turn:
    """What happens between two requests."""

    thought: bool
    says: bool
    calls: tuple[tuple[str, int], ...]
    """Tool and number of its argument."""
    size_lines: int
    is_late: bool
    restarts: bool

    def parts(self, number: int) -> list[Part]:
        parts: list[Part] = [Thinking(f"Thought {number}.")] if self.thought else []
        parts += [Text(f"Words {number}.")] if self.says or not self.calls else []
        return [*parts, *(Call(tool, {"path": f"file_{which}.py"}) for tool, which in self.calls)]

    def result(self, number: int) -> str:
        return "\n".join(
            f"line {line} of result {number}: name_{number}_{line} = {line}"
            for line in range(self.size_lines)
        )


turns = st.builds(
    Turn,
    thought=st.booleans(),
    says=st.booleans(),
    calls=st.lists(st.tuples(st.sampled_from(["read", "bash"]), st.integers(0, 3)), max_size=3).map(tuple),
    size_lines=st.sampled_from([1, 30, 200]),
    is_late=st.sampled_from([False, False, False, True]),
    restarts=st.sampled_from([False, False, False, True]),
)
sessions = st.lists(turns, min_size=4, max_size=16)


@dataclass
class Simulated:
    """A client, the pager of the proxy, and the checks of the provider."""

    client: PlainClient
    rules: Rules = field(default_factory=Rules)
    now: datetime = field(default_factory=lambda: datetime(2026, 1, 1, tzinfo=UTC))
    epochs: int = 0
    requests: int = 0
    grown: int = 0
    """Requests that were read from what the one before left."""

    def __post_init__(self) -> None:
        identifiers = Identifiers()
        providers: dict[str, Api] = {
            "anthropic": AnthropicApi(self, identifiers),
            "chat": ChatApi(identifiers),
            "responses": ResponsesApi(identifiers),
        }
        self._provider = providers[self.client.api]
        self._api = APIS[self.client.api]
        self._conversations = Conversations()
        self._issued: set[str] = set()
        self._kept: KeptBody | None = None
        self._session = OpenSession(
            SessionName("tenant", "owner", "session"), window=Window(PAGING), tools=HIDDEN
        )

    def run(self, turns: list[Turn]) -> None:
        self.client.ask("Begin.")
        for number, turn in enumerate(turns):
            self._pass_time(turn)
            body, reading = self._request()
            use = self._provider.cache_use("model", reading.units)
            answer = self._provider.answer(body, reading, turn.parts(number), use)
            self._issued |= answer.ids
            self._conversations.issue([unit.text for unit in reading.units], answer.ids)
            self.client.take(answer.whole, [turn.result(number)])
            if not turn.calls:
                self.client.ask(f"Prompt after turn {number}.")

    def _pass_time(self, turn: Turn) -> None:
        self.now += COLD if turn.is_late else timedelta(seconds=5)
        assert self._session.window is not None
        if turn.restarts:
            self._session.window = Window(PAGING, self._session.window.saved())

    def _request(self) -> tuple[Body, Reading]:
        """Page the client's next request, and check it as the provider does."""
        body = self.client.body()
        step, changed = self._paged(body)
        headers = {"anthropic-version": "2023-06-01"}
        reading = self._provider.read(
            changed, headers | dict(self._api.extra_headers(changed, headers)), self._issued
        )
        texts = [unit.text for unit in reading.units]
        found = self._conversations.check(self.requests, texts, reading.ids & self._issued)
        assert found is None or step.epoch is not None, str(found)
        self.epochs += step.epoch is not None
        self.requests += 1
        assert sum(unit.is_breakpoint for unit in reading.units) == _markers(body)
        return changed, reading

    def _paged(self, body: Body) -> tuple[Step, Body]:
        """As `mnemic.proxy.paging.decide`, with a clock of its own."""
        window = self._session.window
        assert window is not None
        read = self._read(body)
        conversation = read.conversation
        step = window.observe(
            conversation.entries,
            fixed_tokens=round(conversation.fixed_chars * window.tokens_per_char),
            now=self.now,
            at_user_turn=conversation.at_user_turn,
            model=conversation.model,
        )
        cut = cut_at_epoch(conversation, {each.key for each in step.transitions})
        self._session.replaced = step.replaced
        self._session.cuts = (*self._session.cuts, cut) if cut is not None else self._session.cuts
        changed = self._api.rewrite(read.body, changes_of(self._session, conversation))
        assert read.body == body, "the given body is not changed"
        return step, copied(changed)

    def _read(self, body: Body) -> ReadBody:
        """Read a body as the proxy does: from what the one before left."""
        text = json.dumps(body).encode()
        added = self._kept.added(text) if self._kept is not None else None
        grown = read_grown(self._api, text, self._kept, added) if self._kept and added is not None else None
        read = grown or read_whole(self._api, text)
        assert read.conversation == self._api.read(body)
        self.grown += grown is not None
        self._kept = keep(self._api, read, self._session.name)
        return read


def _markers(body: Body) -> int:
    """Breakpoints that the client set."""
    return json.dumps(body).count('"cache_control"')


def check(client: PlainClient, session: list[Turn]) -> Simulated:
    simulated = Simulated(client)
    simulated.run(session)
    return simulated


quick = settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
thinking: st.SearchStrategy[dict[str, Any] | None] = st.sampled_from(
    [None, {"type": "adaptive"}, {"type": "enabled", "budget_tokens": 1_024}]
)


@quick
@given(session=sessions, thinking=thinking, breakpoints=st.integers(0, 4))
def test_anthropic_accepts_every_paged_prompt(
    session: list[Turn], thinking: dict[str, Any] | None, breakpoints: int
) -> None:
    check(AnthropicClient(thinking, breakpoints), session)


@quick
@given(session=sessions)
def test_chat_completions_accepts_every_paged_prompt(session: list[Turn]) -> None:
    check(ChatClient(), session)


@quick
@given(session=sessions)
def test_responses_accepts_every_paged_prompt(session: list[Turn]) -> None:
    check(ResponsesClient(), session)


def test_these_sessions_do_page_and_grow() -> None:
    turn = Turn(thought=True, says=False, calls=(("read", 0),), size_lines=200, is_late=False, restarts=False)
    for client in (AnthropicClient(), ChatClient(), ResponsesClient()):
        simulated = check(client, [turn] * 12)
        assert simulated.epochs > 0
        assert simulated.grown > 5
