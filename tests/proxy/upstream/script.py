"""What the scripted model says and does.

A script holds the steps of each prompt of the user. The step of a request follows from the request alone:
the number of prompts in it, and of the model's turns since the last one. So a script needs no state, also
if a client repeats a request.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, assert_never

SIDE_TEXT = "Scripted title"
EXHAUSTED_TEXT = "The script has no more steps."

READING = ("read", "read_file", "view", "readfile", "fs_read")
RUNNING = (
    "bash",
    "shell",
    "exec_command",
    "shell_command",
    "execute_command",
    "run_shell_command",
    "run_commands",
)
PATH_ARGUMENTS = ("file_path", "filepath", "path", "target_file", "absolute_path")
COMMAND_ARGUMENTS = ("command", "cmd")
PLAIN_VALUES: Mapping[str, Any] = {
    "string": "scripted",
    "integer": 1,
    "number": 1,
    "boolean": False,
    "array": [],
    "object": {},
}


@dataclass(frozen=True, slots=True)
class Text:
    """Words of the model."""

    text: str


@dataclass(frozen=True, slots=True)
class Thinking:
    """Thinking (Anthropic) or a summary of reasoning (OpenAI Responses); Chat Completions has neither."""

    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool by its name."""

    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Use:
    """A call of the client's own tool that reads a file or runs a command, whatever its name is."""

    kind: Literal["read", "bash"]
    argument: str
    """Path or command."""


Part = Text | Thinking | Call
ScriptedPart = Part | Use


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that a request offers."""

    name: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Failure:
    """How a response fails. Counts are of events of a stream."""

    status: int = 0
    """An error with this status instead of a response."""
    times: int = 1
    """How many requests fail so, before the step goes well."""
    message: str = "scripted failure"
    error_after: int | None = None
    """An error event after so many events, and the end of the stream."""
    cut_after: int | None = None
    """The connection breaks after so many events."""
    hold_after: int | None = None
    """The stream waits after so many events, until `Upstream.release` or until the client goes away."""
    pause_s: float = 0.0
    """Before each event."""


@dataclass(frozen=True, slots=True)
class Step:
    """One turn of the model."""

    parts: tuple[ScriptedPart, ...]
    failure: Failure = field(default_factory=Failure)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a conversation is: prompts of the user before the last one, turns of the model since."""

    prompt: int
    turn: int


@dataclass(frozen=True, slots=True)
class Script:
    """The steps of each prompt; the last prompt's repeat for all later ones."""

    prompts: Sequence[Sequence[Step]]

    def step(self, place: Place, tools: Sequence[Tool]) -> Step:
        """The step of a request; requests without tools are side requests, such as for a title."""
        if not tools:
            return Step((Text(SIDE_TEXT),))
        steps = self.prompts[min(place.prompt, len(self.prompts) - 1)] if self.prompts else ()
        return steps[place.turn] if place.turn < len(steps) else Step((Text(EXHAUSTED_TEXT),))


def step(*parts: ScriptedPart | str, failure: Failure | None = None) -> Step:
    """A step of its parts; a string is text."""
    made = tuple(Text(part) if isinstance(part, str) else part for part in parts)
    return Step(made, failure or Failure())


def script(*prompts: Sequence[Step]) -> Script:
    """A script of the steps of each prompt."""
    return Script(prompts)


def resolved(parts: Sequence[ScriptedPart], tools: Sequence[Tool]) -> list[Part]:
    """The parts with tools of the client in place of `Use`."""
    return [_resolved(part, tools) if isinstance(part, Use) else part for part in parts]


def _resolved(use: Use, tools: Sequence[Tool]) -> Part:
    tool = _tool_named(READING if use.kind == "read" else RUNNING, tools)
    if tool is not None:
        return Call(tool.name, _arguments(use, tool))
    shell = _tool_named(RUNNING, tools)
    if use.kind == "read" and shell is not None:
        return Call(shell.name, _arguments(Use("bash", f"cat {use.argument}"), shell))
    return Text(f"There is no tool to {use.kind} with.")


def _tool_named(names: Sequence[str], tools: Sequence[Tool]) -> Tool | None:
    by_name = {tool.name.lower(): tool for tool in tools}
    return next((by_name[name] for name in names if name in by_name), None)


def _arguments(use: Use, tool: Tool) -> dict[str, Any]:
    required = tool.schema.get("required", ())
    filled: dict[str, Any] = {}
    for name, schema in tool.schema.get("properties", {}).items():
        wanted = PATH_ARGUMENTS if use.kind == "read" else COMMAND_ARGUMENTS
        if name.lower() in wanted:
            is_list = schema.get("type") == "array"
            filled[name] = ["bash", "-lc", use.argument] if is_list else use.argument
        elif name in required:
            filled[name] = _plain_value(schema)
    return filled


def _plain_value(schema: Mapping[str, Any]) -> Any:
    if schema.get("enum"):
        return schema["enum"][0]
    kind = schema.get("type", "string")
    if isinstance(kind, list):
        kind = next((one for one in kind if one != "null"), "string")
    return PLAIN_VALUES.get(kind, "scripted")


def read_script(path: Path) -> Script:
    """A script from a JSON file: a list of prompts, each a list of steps, each a list of parts.

    A part is {"text": …}, {"thinking": …}, {"read": path}, {"bash": command} or {"call": name, "input":
    {…}}; a step that fails is {"parts": [part, …], "failure": {"status": 529, …}}. A list of two items, a
    number and a step, repeats the step; "{n}" in its strings becomes the number of the repetition.
    """
    return Script([_read_steps(prompt) for prompt in json.loads(path.read_text())])


def _read_steps(prompt: list[Any]) -> list[Step]:
    steps: list[Step] = []
    for item in prompt:
        if isinstance(item, list) and len(item) == 2 and isinstance(item[0], int):
            text = json.dumps(item[1])
            steps += [_read_step(json.loads(text.replace("{n}", str(n)))) for n in range(item[0])]
        else:
            steps.append(_read_step(item))
    return steps


def _read_step(item: list[Any] | dict[str, Any]) -> Step:
    if isinstance(item, list):
        return Step(tuple(map(_read_part, item)))
    return Step(tuple(map(_read_part, item["parts"])), Failure(**item.get("failure", {})))


def _read_part(part: dict[str, Any]) -> ScriptedPart:
    match part:
        case {"text": text}:
            return Text(text)
        case {"thinking": text}:
            return Thinking(text)
        case {"call": name, "input": arguments}:
            return Call(name, arguments)
        case {"read": argument}:
            return Use("read", argument)
        case {"bash": argument}:
            return Use("bash", argument)
    raise ValueError(f"unknown part of a script: {part}")


def spoken(parts: Sequence[Part]) -> str:
    """All text of the parts."""
    return "".join(part.text for part in parts if isinstance(part, Text))


def summary(parts: Sequence[Part]) -> str:
    """The parts in a few words, for the record."""
    return ", ".join(_summary(part) for part in parts)


def _summary(part: Part) -> str:
    match part:
        case Text():
            return "text"
        case Thinking():
            return "thinking"
        case Call(name=name):
            return name
    assert_never(part)
