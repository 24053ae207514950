"""The window of a session over its requests: tokens by level, reconstructed from the recorded decisions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from mnemic.dashboard.time_charts import WIDTH, Row, Tick, TimeChart, columns
from mnemic.types.context import ContextEvent, ContextObject

REQUESTS_DRAWN_MAX = 120
"""The newest requests of a session that the chart shows."""
LABELS_MAX = 8
BANDS: Mapping[int, tuple[str, str]] = {
    0: ("full text", "k1"),
    1: ("about 30 %", "k2"),
    2: ("about 5 %", "k3"),
    3: ("one line", "k4"),
}
"""Name and colour of each level that has tokens."""
LEVELS: Mapping[int, str] = {level: name for level, (name, _) in BANDS.items()} | {4: "left out"}
"""What is shown of an object at each level."""
OTHER = ("messages, calls, tools", "k6")


@dataclass(frozen=True)
class RequestBands:
    """A request: tokens that were sent, by level of the objects, and beside them."""

    event: ContextEvent
    levels: tuple[int, ...]
    other: int


def bands_of(events: Sequence[ContextEvent], objects: Sequence[ContextObject]) -> list[RequestBands]:
    """Tokens by level at each request, oldest first. `events` are all those of the requests, in order."""
    tokens = {each.key: each.tokens for each in objects}
    shown: dict[str, int] = {}
    # Kept up to date with each decision: adding up all objects at each request would be quadratic.
    sums = [0] * len(BANDS)
    found = []
    for event in events:
        if event.kind in ("admission", "transition") and event.key in tokens and event.to_level is not None:
            former, shown[event.key] = shown.get(event.key), event.to_level
            for level, sign in ((former, -1), (event.to_level, 1)):
                if level is not None and level in BANDS:
                    sums[level] += sign * tokens[event.key][level]
        elif event.kind == "request":
            sent = event.tokens or 0
            found.append(RequestBands(event, tuple(sums), max(0, sent - sum(sums))))
    return found[-REQUESTS_DRAWN_MAX:]


def draw_bands(requests: Sequence[RequestBands]) -> TimeChart:
    """Stacked bars, one for each request, with the numbers of requests below."""
    rows = [
        Row(OTHER[0], OTHER[1], [each.other for each in requests]),
        *(
            Row(name, style, [each.levels[level] for each in requests])
            for level, (name, style) in BANDS.items()
        ),
    ]
    rows = [row for row in rows if any(row.values)] or rows[:1]
    chart = columns(rows, [each.event.at for each in requests])
    place = WIDTH / max(len(requests), 1)
    every = max(1, -(-len(requests) // LABELS_MAX))
    ticks = [
        Tick(round((at + 0.5) * place, 1), str(requests[at].event.call))
        for at in range(0, len(requests), every)
    ]
    return replace(chart, times=ticks)
