"""Recall over turns of real conversations: latency and CPU time, also beside other code in the same run.

The turns of LoCoMo, repeated until there are 10,000, belong to one owner; names and times stay as they are,
every copy of a session is a conversation of its own. Real turns share far more words and neighbours than
generated ones (`bench/speed_texts.py`). Questions are LoCoMo's, each asked once for each code and limit.

CPU time is that of the process that recalls, the embedding of the query included, and that of all processes
of its PostgreSQL server, per call. Other code (`--beside`, the `src` folder of another checkout) runs in its
own process on its own server with the same turns; both are asked the same few questions in turn, so that
other work on the machine affects both, and their ratio is valid even if the times are not.
"""

import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import count, islice
from pathlib import Path
from typing import Any

from bench.competitors import REPOSITORY
from bench.datasets import SOURCES, Dataset, load
from bench.side_by_side import Driver
from bench.speed_measure import Latency

TURN_COUNT = 10_000
LIMITS = (10, 50)
CALLS_PER_TURN = 5
WARM_UP_CALLS = 30
DRIVER = "bench.drivers.recall_conversations"
THIS_CODE, OTHER_CODE = "this code", "other code"

TimeLeft = Callable[[], float]


@dataclass(frozen=True)
class RecallCost:
    """Latency of recalls, and their CPU time per call in milliseconds."""

    latency: Latency
    python_cpu_ms: float
    postgres_cpu_ms: float

    @property
    def cpu_ms(self) -> float:
        """In both together."""
        return self.python_cpu_ms + self.postgres_cpu_ms


@dataclass(frozen=True)
class ConversationSpeed:
    """Results of one code, for each limit."""

    code: str
    turn_count: int
    fill_s: float
    by_limit: dict[int, RecallCost] = field(default_factory=dict)


def measure_conversations(
    folder: Path,
    data: Path,
    *,
    turn_count: int,
    call_count: int,
    beside: Path | None,
    cache: Path | None,
    time_left_s: TimeLeft,
) -> list[ConversationSpeed]:
    """This code and, if `beside` names its `src` folder, other code. MissingDataError without LoCoMo."""
    dataset = load(SOURCES["locomo"], data)
    work = folder / "work"
    work.mkdir(parents=True)
    (work / "turns.json").write_text(json.dumps(repeated_turns(dataset, turn_count)), "utf-8")
    sources = {THIS_CODE: REPOSITORY / "src"} | ({OTHER_CODE: beside.resolve()} if beside else {})
    with ExitStack() as stack:
        drivers = {
            code: stack.enter_context(
                _open_driver(folder / code, work, source, cache or folder / "cache", time_left_s)
            )
            for code, source in sources.items()
        }
        return measure_codes(drivers, questions(dataset), call_count)


def repeated_turns(dataset: Dataset, turn_count: int) -> list[dict[str, Any]]:
    """Items for `retain_many`: all conversations, again and again, until there are enough."""
    return list(islice(_endless_turns(dataset), turn_count))


def _endless_turns(dataset: Dataset) -> Iterator[dict[str, Any]]:
    for copy in count(1):
        for owner in dataset.owners:
            for turn in owner.turns:
                # Without an external id, by which a second copy would be a duplicate.
                yield {
                    "content": turn.content,
                    "conversation": f"{owner.name}, {turn.conversation}, copy {copy}",
                    "at": turn.at.isoformat() if turn.at else None,
                    "name": turn.name,
                }


def questions(dataset: Dataset) -> list[str]:
    """The questions of all owners, one of each in turn, each only once."""
    by_owner = [[question.text for question in owner.questions] for owner in dataset.owners]
    longest = max(map(len, by_owner))
    in_turn = (texts[place] for place in range(longest) for texts in by_owner if place < len(texts))
    return list(dict.fromkeys(in_turn))


def measure_codes(
    drivers: dict[str, Driver], asked: Sequence[str], call_count: int
) -> list[ConversationSpeed]:
    """Fill all of them, then ask each limit its own questions."""
    filled = {code: driver.send("fill") for code, driver in drivers.items()}
    speeds = {code: ConversationSpeed(code, done["count"], done["took_s"]) for code, done in filled.items()}
    needed = (WARM_UP_CALLS + call_count) * len(LIMITS)
    assert needed <= len(asked), f"at most {len(asked) // len(LIMITS) - WARM_UP_CALLS} calls: {call_count}"
    remaining = iter(asked)
    for limit in LIMITS:
        _recall(drivers, list(islice(remaining, WARM_UP_CALLS)), limit)
        costs = _recall(drivers, list(islice(remaining, call_count)), limit)
        for code, cost in costs.items():
            speeds[code].by_limit[limit] = cost
    return list(speeds.values())


def _recall(drivers: dict[str, Driver], asked: Sequence[str], limit: int) -> dict[str, RecallCost]:
    """A few questions for each code in turn, in another order every time."""
    replies: dict[str, list[dict[str, Any]]] = defaultdict(list)
    order = list(drivers)
    for start in range(0, len(asked), CALLS_PER_TURN):
        for code in order:
            queries = asked[start : start + CALLS_PER_TURN]
            replies[code].append(drivers[code].send("recall", queries=queries, limit=limit))
        order.reverse()
    return {code: _cost(given) for code, given in replies.items()}


def _cost(replies: Sequence[dict[str, Any]]) -> RecallCost:
    times_ms = [time_ms for reply in replies for time_ms in reply["times_ms"]]
    return RecallCost(
        Latency.of(times_ms),
        sum(reply["python_cpu_ms"] for reply in replies) / len(times_ms),
        sum(reply["postgres_cpu_ms"] for reply in replies) / len(times_ms),
    )


@contextmanager
def _open_driver(
    folder: Path, work: Path, source: Path, cache: Path, time_left_s: TimeLeft
) -> Iterator[Driver]:
    """A driver with an empty memory, whose `mnemic` is that of the folder `source`."""
    folder.mkdir(parents=True)
    log = folder / "log"
    with log.open("w") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", DRIVER, str(work), str(folder / "data"), str(cache)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            cwd=REPOSITORY,
            # Without a worker: what it learns from new turns in the background is no part of a recall.
            env={
                **os.environ,
                "PYTHONPATH": f"{source}{os.pathsep}{REPOSITORY}",
                "MNEMIC_WORKER": "false",
            },
        )
        driver = Driver(process, log, time_left_s)
        try:
            yield driver
        finally:
            driver.stop()
