"""Documents that stop a server, fill its memory or leave processes behind."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from uuid import uuid4

import pytest

from mnemic.errors import ConflictError, InvalidInputError, TooManyRequestsError
from mnemic.runtime import fair_slots
from mnemic.runtime.job_waiting import finish_job
from mnemic.sdk.memory import AsyncMemory
from tests.attacks.hostile_documents import TEXT, circular_pdf, page_bomb, pdf_with, slow_pdf
from tests.fresh_tenants import (  # noqa: F401 (fixtures)
    OpenMemory,
    open_memory,
)
from tests.opened import core_of
from tests.running_folder import running
from tests.waiting import wait_for, wait_until

ROOT = Path(__file__).resolve().parents[2]
READER = "mnemic.documents.reading.process"
# CPU time of this process between two turns of its event loop, and in all. Reading one of these documents in
# it took 15 s and more; what is left is to write bytes to a pipe and rows to the database.
STALL_MAX_S = 2.0
CPU_MAX_S = 5.0
KIB, MIB = 1 << 10, 1 << 20


class Pulse:
    """Counts turns of the event loop, and the most CPU time that this process took between two of them."""

    def __init__(self) -> None:
        self.beats = 0
        self.longest_s = 0.0

    async def beat(self) -> None:
        before_s = time.process_time()
        while True:
            await asyncio.sleep(0.005)
            now_s = time.process_time()
            self.longest_s, before_s = max(self.longest_s, now_s - before_s), now_s
            self.beats += 1


@asynccontextmanager
async def pulse() -> AsyncIterator[Pulse]:
    """Fail if during the block the event loop stands still, or this process takes much CPU time."""
    pulse = Pulse()
    task = asyncio.create_task(pulse.beat())
    await wait_for(lambda: pulse.beats > 0, what="the first beat")
    began_s = time.process_time()
    try:
        yield pulse
    finally:
        task.cancel()
    assert time.process_time() - began_s < CPU_MAX_S
    assert pulse.longest_s < STALL_MAX_S


def readers() -> dict[int, tuple[int, str]]:
    """All processes that read documents: parent and state of each. A zombie has lost its arguments."""
    listed = subprocess.run(
        ["ps", "-axwwo", "pid=,ppid=,stat=,command="], capture_output=True, text=True, check=True
    )
    rows = (line.split(None, 3) for line in listed.stdout.splitlines())
    return {
        int(pid): (int(parent), state)
        for pid, parent, state, command in rows
        if READER in command or (state.startswith("Z") and int(parent) == os.getpid())
    }


def own_readers() -> list[int]:
    return [pid for pid, (parent, _) in readers().items() if parent == os.getpid()]


@pytest.fixture
async def memory(open_memory: OpenMemory) -> AsyncMemory:  # noqa: F811
    """A memory that reads documents with few pages and little memory."""
    return await open_memory(
        settings={
            "document_timeout_s": 600,
            "document_max_memory_bytes": 256 * MIB,
            "document_max_pages": 100,
        }
    )


async def test_headings_of_any_length_take_no_longer(memory: AsyncMemory, subtests: pytest.Subtests) -> None:
    headings = {
        "marks": "#" * 40 * KIB,
        "many marks": "#" * 300 * KIB,
        "blanks and marks": " #" * 150 * KIB,
        "blanks": " \t" * 150 * KIB,
    }
    for name, heading in headings.items():
        with subtests.test(name):
            async with pulse():
                await memory.documents.ingest(f"{name}.md", f"# {heading}x\n\nThe text under it.")
            assert (await memory.documents.text(f"{name}.md")).endswith("The text under it.")


async def test_broken_html_takes_no_longer(memory: AsyncMemory, subtests: pytest.Subtests) -> None:
    for part in ("<a ", "<div>", '<a b="', "<!--", "<![CDATA[", "</", "<?", "&#9", "<svg>", "<nav>", "<a\n="):
        with subtests.test(part):
            async with pulse():
                markup = f"<p>The text.</p>{part * (80 * KIB // len(part))}"
                await memory.documents.ingest(f"{part!a}.html", markup)
            assert (await memory.documents.text(f"{part!a}.html")).startswith("The text.")


async def test_what_exceeds_a_limit_is_refused_with_its_name(
    memory: AsyncMemory, subtests: pytest.Subtests
) -> None:
    hostile: dict[str, tuple[Callable[[], str | bytes], str]] = {
        "pages.pdf": (
            lambda: pdf_with(TEXT, page_count=101),
            "101 pages; the limit is 100.*document_max_pages",
        ),
        "bomb.pdf": (page_bomb, "cannot be read.*imit"),
        "packed.pdf": (lambda: pdf_with(b"\0" * 300 * MIB), "cannot be read.*imit"),
        "circle.pdf": (circular_pdf, "cannot be read.*cyclic"),
        "greedy.md": (
            lambda: "a" + "\n" * 12_000_000 + "b",
            "268,435,456 bytes of memory.*document_max_memory",
        ),
        "number.html": (lambda: f"&#{'9' * 5_000};", "\ufffd"),
    }
    for name, (make, message) in hostile.items():
        with subtests.test(name):
            content = make()
            given = {"content": content} if isinstance(content, str) else {"data": content}
            async with pulse():
                try:
                    await memory.documents.ingest(name, **given)
                    refusal = await memory.documents.text(name)
                except InvalidInputError as error:
                    refusal = str(error)
            assert pytest.raises(ValueError, match=message).matches(ValueError(refusal)), refusal
    assert own_readers() == []


async def test_a_document_of_too_many_chunks_is_refused(open_memory: OpenMemory) -> None:  # noqa: F811
    memory = await open_memory(settings={"document_timeout_s": 600})
    with pytest.raises(InvalidInputError, match="more than 100,000 memories, which is the limit: split it"):
        await memory.documents.ingest("many.html", "<h1>a</h1>b" * 100_001)


async def test_a_slow_document_is_refused_after_the_time_limit(open_memory: OpenMemory) -> None:  # noqa: F811
    memory = await open_memory(settings={"document_timeout_s": 1})
    async with pulse() as counted:
        with pytest.raises(
            InvalidInputError, match=r"longer than 1 s, which is the limit.*document_timeout_s"
        ):
            await memory.documents.ingest("slow.pdf", data=slow_pdf())
    assert counted.beats > 10
    assert own_readers() == []


def check_process_is_bare(pid: int) -> None:
    """Only Linux shows the environment and the open files of a process."""
    process = Path(f"/proc/{pid}")
    if not process.exists():
        return
    names = {entry.partition(b"=")[0] for entry in (process / "environ").read_bytes().split(b"\0") if entry}
    assert names <= {b"LD_LIBRARY_PATH"}
    # While the process starts, the dynamic loader and Python open libraries and modules for a moment.
    # A descriptor that it was given is there from the beginning, and stays.
    wait_until(
        lambda: has_only_standard_streams(open_files(process)),
        what="a reader that has nothing open but its standard streams",
    )


def open_files(process: Path) -> list[str]:
    """What the descriptors of a process refer to, without those that it closes meanwhile."""
    found = []
    for link in (process / "fd").iterdir():
        with suppress(FileNotFoundError):
            found.append(os.readlink(link))
    return found


def has_only_standard_streams(files: list[str]) -> bool:
    return len(files) == 3 and {file.split(":")[0] for file in files} <= {"pipe", "socket", "/dev/null"}


async def test_a_reader_gets_no_secret_and_no_descriptor(
    memory: AsyncMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MNEMIC_TENANT_KEY", "f" * 64)
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)
    task = asyncio.create_task(memory.documents.ingest("slow.pdf", data=slow_pdf()))
    try:
        await wait_for(lambda: bool(own_readers()), what="the reader")
        (pid,) = own_readers()
        check_process_is_bare(pid)
    finally:
        os.close(reading)
        os.close(writing)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert own_readers() == []


async def test_a_cancelled_call_kills_its_reader(open_memory: OpenMemory) -> None:  # noqa: F811
    memory = await open_memory(settings={"document_timeout_s": 600})
    task = asyncio.create_task(memory.documents.ingest("slow.pdf", data=slow_pdf()))
    await wait_for(lambda: bool(own_readers()), what="the reader")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert own_readers() == []


async def test_a_tenant_has_its_share_of_readers(
    open_memory: OpenMemory,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fair_slots, "WAITING_MAX", 4)
    hostile = await open_memory(settings={"document_timeout_s": 600})
    other = await open_memory()
    core_of(other).reading_slots = core_of(hostile).reading_slots
    document = slow_pdf()
    tasks = [asyncio.create_task(hostile.documents.ingest(f"{n}.pdf", data=document)) for n in range(4)]
    await wait_for(lambda: bool(own_readers()), what="the reader")
    with pytest.raises(TooManyRequestsError, match="4 documents of this tenant"):
        await hostile.documents.ingest("more.pdf", data=document)
    await other.documents.ingest("a.md", "# A\n\nThe text.")
    assert len(own_readers()) == 1
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert own_readers() == []


async def test_a_job_that_exceeds_a_limit_is_dead_and_says_why(open_memory: OpenMemory) -> None:  # noqa: F811
    memory = await open_memory()
    text = "\n\n".join(f"Sentence {number} of a long text." for number in range(100_000))
    filed = await memory.documents.ingest("long.txt", text)
    assert filed.job_id is not None
    core = core_of(memory)
    core.settings = core.settings.model_copy(update={"document_timeout_s": 0.001})
    with pytest.raises(ConflictError, match=r"is dead: .*longer than 0\.001 s.*document_timeout_s"):
        await finish_job(core, filed.job_id)
    (attempt,) = (await memory.jobs.status(filed.job_id)).history
    assert attempt.outcome == "failed"


@pytest.fixture(scope="module")
def folder(memory_dir: Path) -> Iterator[Path]:
    yield from running(memory_dir / "reading")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_no_reader_outlives_its_parent(folder: Path, number: signal.Signals) -> None:
    command = [sys.executable, "-m", "tests.attacks.reading_process", str(folder), f"tenant {uuid4()}"]
    parent = subprocess.Popen(command, cwd=ROOT)

    def child() -> int | None:
        return next((pid for pid, (its_parent, _) in readers().items() if its_parent == parent.pid), None)

    try:
        wait_until(lambda: child() is not None, what="the reader")
        pid = child()
        assert pid is not None
    finally:
        parent.send_signal(number)
        parent.wait()
    wait_until(lambda: pid not in readers(), what="the end of the reader")


def test_a_watching_thread_ends_a_reader_where_the_kernel_does_not() -> None:
    """As on macOS: the parent that the request names is not the one that it has."""
    request = {"work": "read", "parent": os.getppid(), "cpu_s": 60, "memory_bytes": 1 << 30, "pages_max": 1}
    program = (
        "import mnemic.documents.reading.process as process; print('watching', flush=True); "
        f"process.watch(process.Request(**{json.dumps(request)}))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], timeout=60, check=False, capture_output=True, text=True
    )
    assert (ended.stdout, ended.stderr, ended.returncode) == ("watching\n", "", 1)
