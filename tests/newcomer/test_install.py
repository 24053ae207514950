"""Installing from a clone: three pinned lists, one of them for the demo, and a tool that shows progress."""

import base64
import hashlib
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import requires
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
BASE = ROOT / "constraints.txt"
EXTRAS = ROOT / "constraints-extras.txt"
DEV = ROOT / "constraints-dev.txt"
SECONDS_MAX = 300


def entries(pinned: Path) -> list[str]:
    """`name==version ; marker` of each package in a list."""
    return re.findall(r"^([a-z0-9][^\\\n]*?) *\\?$", pinned.read_text("utf-8"), re.MULTILINE)


def names(requirements: list[str]) -> set[str]:
    return {re.split(r"[^A-Za-z0-9._-]", requirement)[0] for requirement in requirements}


def test_the_first_list_has_every_dependency_of_mnemic_and_nothing_of_the_extras() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    needed = names(project["project"]["dependencies"]) | names(project["dependency-groups"]["build"])
    assert needed <= names(entries(BASE))
    extras = set().union(*map(names, project["project"]["optional-dependencies"].values()))
    assert extras <= names(entries(EXTRAS))
    assert not extras & names(entries(BASE))
    assert not extras & names(entries(DEV))


def test_the_lists_that_are_installed_at_once_have_no_package_in_common() -> None:
    assert not names(entries(EXTRAS)) & names(entries(DEV))


def test_the_lists_for_users_have_all_that_the_extras_need_directly_or_not() -> None:
    """Follow the requirements of the installed packages, as far as they concern this platform."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    waiting = [Requirement(text) for texts in project["optional-dependencies"].values() for text in texts]
    listed = {canonicalize_name(name) for name in names(entries(BASE)) | names(entries(EXTRAS))}
    seen: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        needed = waiting.pop()
        name, wanted = canonicalize_name(needed.name), frozenset(needed.extras)
        if (name, wanted) in seen or (needed.marker and not needed.marker.evaluate({"extra": ""})):
            continue
        seen.add((name, wanted))
        assert name in listed
        for other in map(Requirement, requires(name) or ()):
            if other.marker is None or any(other.marker.evaluate({"extra": each}) for each in ("", *wanted)):
                other.marker = None
                waiting.append(other)
    assert len(seen) > len(project["optional-dependencies"])


def test_every_extra_is_bounded_above() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    for extra, requirements in project["optional-dependencies"].items():
        for requirement in requirements:
            assert "<" in requirement.partition(";")[0] or "==" in requirement, (extra, requirement)


def test_the_lists_pin_versions_and_hashes_once_and_name_no_place_to_download_from() -> None:
    listed = entries(BASE) + entries(EXTRAS) + entries(DEV)
    assert len(set(listed)) == len(listed)
    assert [entry for entry in listed if "==" not in entry] == []
    assert not any("://" in pinned.read_text("utf-8") for pinned in (BASE, EXTRAS, DEV))


def wheel(folder: Path, name: str) -> str:
    """Build the smallest wheel that pip installs; returns its line in a list of requirements."""
    path = folder / f"{name}-1.0-py3-none-any.whl"
    about = f"{name}-1.0.dist-info"
    with ZipFile(path, "w") as made:
        made.writestr(f"{name}.py", "")
        made.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        made.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        digest = base64.urlsafe_b64encode(hashlib.sha256(b"").digest()).rstrip(b"=").decode()
        made.writestr(
            f"{about}/RECORD",
            f"{name}.py,sha256={digest},0\n{about}/METADATA,,\n{about}/WHEEL,,\n{about}/RECORD,,\n",
        )
    return f"{name}==1.0 --hash=sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}\n"


def install(requirements: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the tool on a list; pip looks for wheels in the folder only and installs below it."""
    listed = folder / "listed.txt"
    listed.write_text(requirements, "utf-8")
    places = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder), "PIP_TARGET": str(folder / "installed")}
    return subprocess.run(
        [sys.executable, str(ROOT / "tools" / "install.py"), str(listed)],
        env=os.environ | places | {"PIP_CONFIG_FILE": os.devnull},
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )


def test_it_installs_the_list_and_counts_only_packages_for_this_platform(tmp_path: Path) -> None:
    requirements = "".join(wheel(tmp_path, name) for name in ("first", "second", "third"))
    other = wheel(tmp_path, "other").replace(" --hash", " ; sys_platform == 'nowhere' --hash")
    done = install(requirements + other, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(r"^  3 packages in \d+ s$", done.stdout, re.MULTILINE)
    assert sorted(path.name for path in (tmp_path / "installed").glob("*.py")) == [
        "first.py",
        "second.py",
        "third.py",
    ]


def test_a_wrong_hash_installs_nothing_and_shows_what_pip_printed(tmp_path: Path) -> None:
    requirements = re.sub(r"sha256:\w{8}", "sha256:00000000", wheel(tmp_path, "first"))
    done = install(requirements, tmp_path)
    assert done.returncode != 0
    assert "THESE PACKAGES DO NOT MATCH THE HASHES" in done.stderr
    assert not (tmp_path / "installed").exists()


@pytest.mark.parametrize(("target", "lists"), [("demo", [BASE]), ("setup", [BASE, EXTRAS, DEV])])
def test_the_demo_installs_the_first_list_only(target: str, lists: list[Path], tmp_path: Path) -> None:
    done = subprocess.run(
        ["make", "--dry-run", target, f"VENV={tmp_path / 'new'}"],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=True,
    )
    installed = re.findall(r"tools/install\.py (\S+)", done.stdout)
    assert installed == [pinned.name for pinned in lists]
