"""How each agent is configured and called: offline, with a home folder of its own."""

import json
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.clients.npm import PACKAGES

MODEL_LIMITS = {"contextWindow": 200_000, "maxTokens": 8_000}
CLAUDE_MODEL = "claude-sonnet-4-5-20250929"


@dataclass(frozen=True, slots=True)
class Workplace:
    """Folders of one run, and the address that the agent uses instead of its provider's."""

    home: Path
    project: Path
    url: str


@dataclass(frozen=True, slots=True)
class Program:
    """One agent with one API."""

    name: str
    api: str
    command: Callable[[str, bool], Sequence[str]]
    """Arguments for a prompt; with True, of the conversation before."""
    environment: Callable[[Workplace], Mapping[str, str]] = lambda _: {}
    prepare: Callable[[Workplace], None] = lambda _: None
    compacting: Mapping[str, str] = field(default_factory=dict)
    """Environment that makes it compact a conversation early."""

    def variables(self, place: Workplace, programs: Path) -> dict[str, str]:
        """The whole environment: nothing of the caller's but the way to programs."""
        node = str(Path(shutil.which("node") or "node").parent)
        path = os.pathsep.join([str(programs), node, "/usr/local/bin", "/usr/bin", "/bin"])
        return {"HOME": str(place.home), "PATH": path, **self.environment(place)}


def _claude(prompt: str, is_resumed: bool) -> list[str]:
    shown = ["--output-format", "stream-json", "--verbose"]
    allowed = ["--permission-mode", "bypassPermissions", "--model", CLAUDE_MODEL]
    return ["claude", "-p", prompt, *(["--continue"] if is_resumed else []), *shown, *allowed]


def _claude_environment(place: Workplace) -> dict[str, str]:
    return {
        "ANTHROPIC_BASE_URL": place.url,
        "ANTHROPIC_API_KEY": "sk-ant-of-a-test-0000000000000000",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_TELEMETRY": "1",
        "IS_SANDBOX": "1",
    }


def _opencode(prompt: str, is_resumed: bool) -> list[str]:
    return ["opencode", "run", "--format", "json", *(["--continue"] if is_resumed else []), prompt]


def _prepare_opencode(place: Workplace) -> None:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "scripted",
        "options": {"baseURL": f"{place.url}/v1", "apiKey": "of-a-test"},
        "models": {"gpt-4.1": {"name": "gpt-4.1", "limit": {"context": 200_000, "output": 8_000}}},
    }
    _write_json(
        place.home / ".config/opencode/opencode.json",
        {
            "permission": {"*": "allow"},
            "model": "scripted/gpt-4.1",
            "autoupdate": False,
            "share": "disabled",
            "provider": {"scripted": provider},
        },
    )


def _codex(prompt: str, is_resumed: bool) -> list[str]:
    options = ["--json", "--skip-git-repo-check"]
    return ["codex", "exec", *(["resume", "--last"] if is_resumed else []), *options, prompt]


CODEX_CONFIGURATION = """\
model = "gpt-5.1"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "danger-full-access"

[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
env_key = "SCRIPTED_KEY"
wire_api = "responses"
supports_websockets = false
"""


def _prepare_codex(place: Workplace) -> None:
    folder = place.home / ".codex"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text(CODEX_CONFIGURATION.format(url=place.url))


def _pi(provider: str, model: str) -> Callable[[str, bool], list[str]]:
    def command(prompt: str, is_resumed: bool) -> list[str]:
        chosen = ["--mode", "json", "--provider", provider, "--model", model]
        return ["pi", "-p", *chosen, *(["--continue"] if is_resumed else []), prompt]

    return command


PI_MODELS = {
    "anthropic-messages": ("claude-scripted", "", True),
    "openai-completions": ("gpt-4.1", "/v1", False),
    "openai-responses": ("gpt-5.1", "/v1", True),
}
"""By API: the model, the path after the address, whether it reasons."""


def _prepare_pi(place: Workplace) -> None:
    providers = {
        api: {
            "baseUrl": place.url + path,
            "apiKey": "of-a-test",
            "api": api,
            "models": [{"id": model, "reasoning": reasons, **MODEL_LIMITS}],
        }
        for api, (model, path, reasons) in PI_MODELS.items()
    }
    _write_json(place.home / ".pi/agent/models.json", {"providers": providers})


def _write_json(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


def _named(title: str, package: str) -> str:
    return f"{title} {PACKAGES[package]}"


PROGRAMS = (
    Program(
        _named("Claude Code", "@anthropic-ai/claude-code"),
        "Anthropic Messages",
        _claude,
        _claude_environment,
        compacting={"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "100000", "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "50"},
    ),
    Program(
        _named("opencode", "opencode-ai"),
        "Chat Completions",
        _opencode,
        lambda _: {"OPENCODE_DISABLE_MODELS_FETCH": "1"},
        _prepare_opencode,
    ),
    Program(
        _named("codex", "@openai/codex"),
        "Responses",
        _codex,
        lambda _: {"SCRIPTED_KEY": "of-a-test"},
        _prepare_codex,
    ),
    *(
        Program(
            _named("pi", "@mariozechner/pi-coding-agent"),
            title,
            _pi(api, PI_MODELS[api][0]),
            lambda _: {"PI_OFFLINE": "1"},
            _prepare_pi,
        )
        for api, title in (
            ("anthropic-messages", "Anthropic Messages"),
            ("openai-completions", "Chat Completions"),
            ("openai-responses", "Responses"),
        )
    ),
)
