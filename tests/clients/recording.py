"""Cuts requests of agents down to small fixtures: no keys, no paths of a machine, no long texts."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.clients.driving import drive
from tests.clients.programs import Program, Workplace
from tests.clients.scripts import plain_session
from tests.proxy.upstream.rules import Rules
from tests.proxy.upstream.server import Received, running_upstream

HEADERS_KEPT = (
    "anthropic-beta",
    "anthropic-version",
    "content-type",
    "session-id",
    "session_id",
    "thread-id",
    "user-agent",
    "x-claude-code-session-id",
    "x-session-affinity",
    "x-session-id",
)
KEPT_WHOLE = ("signature", "encrypted_content", "arguments")
COMPACTION = "TEXT ONLY"
"""In the request with which Claude Code asks for a summary."""
FULL_TOKENS = 90_000
TEXT_MAX_CHARS = 240
START_CHARS, END_CHARS = 160, 60
DESCRIPTION_CHARS = 60
TOOLS_KEPT = ("bash", "exec_command", "read", "web_search")
IDENTITY = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b[0-9a-f]{64}\b")


async def record(chosen: Sequence[Program], programs: Path, folder: Path, target: Path) -> None:
    """Record a session of two prompts with each agent, without a proxy: one file for each."""
    for program in chosen:
        own = folder / f"recorded {program.name} {program.api}".replace(" ", "-")
        requests = _wanted(await _requests(program, programs, own, Rules()))
        if program.compacting:
            requests += await _compaction(program, programs, own / "compacted")
        _write(target, program, own, requests)


async def _compaction(program: Program, programs: Path, own: Path) -> list[Received]:
    """The request with which an agent asks for a summary of its conversation."""
    small = replace(program, environment=lambda place: {**program.environment(place), **program.compacting})
    received = await _requests(small, programs, own, Rules(reported_tokens=FULL_TOKENS))
    return [one for one in received if COMPACTION in json.dumps(one.body)][:1]


async def _requests(program: Program, programs: Path, own: Path, rules: Rules) -> list[Received]:
    script = plain_session(own / "project")
    async with running_upstream(script, rules) as upstream:
        await drive(program, _place(own, upstream.url), programs, upstream, script=script)
        return [one for one in upstream.received if one.request.method == "POST"]


def _place(own: Path, url: str = "") -> Workplace:
    return Workplace(own / "home", own / "project", url)


def _wanted(posts: Sequence[Received]) -> list[Received]:
    """A side request if there is one; the first, the third and the last of the session."""
    turns = [one for one in posts if one.has_tools]
    return [*[one for one in posts if not one.has_tools][:1], turns[0], turns[2], turns[-1]]


def _write(target: Path, program: Program, own: Path, requests: Sequence[Received]) -> None:
    target.mkdir(parents=True, exist_ok=True)
    name = f"{program.name.rpartition(' ')[0]} {program.api.split()[0]}".lower().replace(" ", "_")
    fixture = {"client": program.name, "api": program.api, "requests": [cut(one) for one in requests]}
    (target / f"{name}.json").write_text(_anonymous(json.dumps(fixture, indent=1), own) + "\n")


def _anonymous(text: str, own: Path) -> str:
    """Without the folders of this machine, and with numbers in place of identities."""
    for folder in (own / "compacted", own):
        place = _place(folder)
        text = text.replace(str(place.project), "/project").replace(str(place.home), "/home/user")
    names: dict[str, str] = {}
    return IDENTITY.sub(lambda found: names.setdefault(found[0], _identity(found[0], len(names))), text)


def cut(received: Received) -> dict[str, Any]:
    """One request as a fixture."""
    kept = {name: value for name, value in received.request.headers if name.lower() in HEADERS_KEPT}
    return {"target": received.request.target, "headers": kept, "body": _cut(received.body)}


def _identity(found: str, number: int) -> str:
    """The same length and shape, with a number in place of what identifies a person or a machine."""
    digits = f"{number + 1:0{len(found.replace('-', ''))}d}"
    parts, position = [], 0
    for part in found.split("-"):
        parts.append(digits[position : position + len(part)])
        position += len(part)
    return "-".join(parts)


def _cut(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        return {name: _cut(inner, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [_cut(inner) for inner in (_tools(value) if key == "tools" else value)]
    if isinstance(value, str) and key not in KEPT_WHOLE:
        return _cut_text(value, key)
    return value


def _cut_text(text: str, key: str) -> str:
    if key == "description":
        return text[:DESCRIPTION_CHARS]
    if len(text) <= TEXT_MAX_CHARS:
        return text
    return "{}" if text.startswith("{") else f"{text[:START_CHARS]} … {text[-END_CHARS:]}"


def _tools(tools: list[Any]) -> Iterator[Any]:
    """Those that the session uses, and one of each kind that is no function."""
    for tool in tools:
        name = tool.get("name") or tool.get("function", {}).get("name") or tool.get("type", "")
        if name.lower() in TOOLS_KEPT or tool.get("type") not in (None, "function", "custom"):
            yield {**tool, "tools": tool["tools"][:1]} if tool.get("type") == "namespace" else tool
