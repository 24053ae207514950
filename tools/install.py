"""Install a file of pinned requirements into the environment that runs this, and show the progress.

`.venv/bin/python tools/install.py constraints.txt` shows which package of how many is being downloaded and
installed: on a terminal in one line that is rewritten, elsewhere one line for every tenth package. pip itself
prints several lines per package or nothing, and nothing while it unpacks. If pip fails, its whole output is
shown.
"""

import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from sysconfig import get_path
from tempfile import TemporaryDirectory

# Only wheels whose hashes are in the file: installing runs no code of the packages.
PIP_INSTALL = [
    *(sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--no-input"),
    *("--progress-bar", "off", "--require-hashes", "--no-deps", "--only-binary", ":all:", "-r"),
]
POLL_INTERVAL_S = 0.2
PACKAGES_PER_LINE = 10
REQUIREMENT = re.compile(r"^[A-Za-z0-9]", re.MULTILINE)
# Output of pip when it starts with the next requirement, and when it skips one for other platforms.
TAKEN_UP = re.compile(r"^(?:Collecting|Requirement already satisfied:) ([^\s;]+)", re.MULTILINE)
SKIPPED = re.compile(r"^Ignoring .*: markers", re.MULTILINE)
UNPACKING = re.compile(r"^Installing collected packages: (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Progress:
    """How many of the packages have been reached in the current step."""

    step: str
    count: int
    total: int
    package: str = ""

    def __str__(self) -> str:
        return f"  {self.step} {self.count}/{self.total} {self.package}".rstrip()


def main() -> int:
    requirements = Path(sys.argv[1])
    packages = Path(get_path("purelib"))
    started_s = time.monotonic()
    with TemporaryDirectory() as folder:
        log = Path(folder, "pip.log")
        # A file, not a pipe: pip never blocks on a full pipe.
        with log.open("w", encoding="utf-8") as output:
            pip = subprocess.Popen([*PIP_INSTALL, str(requirements)], stdout=output, stderr=subprocess.STDOUT)
        follow(pip, requirements.read_text("utf-8"), log, packages)
        if pip.returncode != 0:
            print(log.read_text("utf-8", "replace"), file=sys.stderr)
            return pip.returncode
        total = downloading(requirements.read_text("utf-8"), log.read_text("utf-8", "replace")).total
    print(f"  {total} packages in {time.monotonic() - started_s:.0f} s")
    return 0


def follow(pip: subprocess.Popen[bytes], requirements: str, log: Path, packages: Path) -> None:
    """Show the progress of pip until it ends."""
    before = set(installed(packages))
    shown = None
    while pip.poll() is None:
        printed = log.read_text("utf-8", "replace")
        now = installing(printed, before, packages) or downloading(requirements, printed)
        # The total is correct only after pip has skipped the requirements for other platforms.
        if now.count > 0 and now != shown:
            show(now, shown)
            shown = now
        time.sleep(POLL_INTERVAL_S)
    if sys.stdout.isatty():
        print("\r\033[K", end="")


def downloading(requirements: str, printed: str) -> Progress:
    """Progress of the first step, in which pip downloads one requirement after the other."""
    taken_up = TAKEN_UP.findall(printed)
    total = len(REQUIREMENT.findall(requirements)) - len(SKIPPED.findall(printed))
    return Progress("downloading", len(taken_up), total, taken_up[-1] if taken_up else "")


def installing(printed: str, before: set[str], packages: Path) -> Progress | None:
    """Progress of the second step, in which pip unpacks all of them silently; None before it begins."""
    collected = UNPACKING.search(printed)
    if collected is None:
        return None
    total = len(collected[1].split(", "))
    return Progress("installing", min(len(set(installed(packages)) - before), total), total)


def installed(packages: Path) -> list[str]:
    """Installed packages with their versions, as pip names their folders."""
    return [folder.name for folder in packages.glob("*.dist-info")]


def show(now: Progress, shown: Progress | None) -> None:
    """Print the progress; without a terminal only at the start of a step and after every ten packages."""
    if sys.stdout.isatty():
        print(f"\r\033[K{now}", end="", flush=True)
    elif shown is None or shown.step != now.step or tens(shown) != tens(now):
        print(now, flush=True)


def tens(progress: Progress) -> int:
    return progress.count // PACKAGES_PER_LINE


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("\nInterrupted. Run it again to finish the installation.")
