"""Requests that real agents sent, cut down: `python -m tests.clients --record tests/proxy/requests`."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mnemic.proxy.protocol import ApiName

FOLDER = Path(__file__).parent / "requests"
COMPACTION = "Respond with TEXT ONLY"
PATHS: dict[str, ApiName] = {
    "/v1/messages": "anthropic",
    "/v1/chat/completions": "chat",
    "/v1/responses": "responses",
}


@dataclass(frozen=True, slots=True)
class Recorded:
    """One request."""

    name: str
    api: ApiName
    headers: dict[str, str]
    """By name in lower case."""
    body: dict[str, Any]

    @property
    def is_side_request(self) -> bool:
        return not self.body.get("tools")

    @property
    def is_compaction(self) -> bool:
        return COMPACTION in json.dumps(self.body)


def recorded_requests() -> Iterator[Recorded]:
    """All of them, by agent, in the order in which they were sent."""
    for path in sorted(FOLDER.glob("*.json")):
        fixture = json.loads(path.read_text())
        for number, request in enumerate(fixture["requests"]):
            headers = {name.lower(): value for name, value in request["headers"].items()}
            api = PATHS[request["target"].partition("?")[0]]
            yield Recorded(f"{fixture['client']} {api} {number}", api, headers, request["body"])
