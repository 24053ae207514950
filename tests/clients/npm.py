"""Installs the agents with npm into a folder."""

import shutil
import subprocess
from pathlib import Path

PACKAGES = {
    "@anthropic-ai/claude-code": "2.1.197",
    "opencode-ai": "1.18.33",
    "@openai/codex": "0.169.0",
    "@mariozechner/pi-coding-agent": "0.73.1",
}
INSTALL_TIMEOUT_S = 900


def has_npm() -> bool:
    return shutil.which("npm") is not None


def install(folder: Path) -> Path:
    """Install all agents, unless they are; the folder of their programs."""
    programs = folder / "node_modules" / ".bin"
    if not (programs / "pi").exists():
        wanted = [f"{name}@{version}" for name, version in PACKAGES.items()]
        command = [
            "npm",
            "install",
            "--prefix",
            str(folder),
            "--no-fund",
            "--no-audit",
            "--loglevel=error",
            *wanted,
        ]
        subprocess.run(command, check=True, timeout=INSTALL_TIMEOUT_S)
    return programs
