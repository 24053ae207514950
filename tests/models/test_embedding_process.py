"""Texts embedded in a process of its own: the same vectors, and what happens when it dies."""

import os
import signal
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from mnemic.db.process_priority import NICENESS
from mnemic.errors import EmbeddingError
from mnemic.models.embedding_process import REQUEST_MAX_CHARACTERS, REQUEST_MAX_TEXTS, parts_of
from mnemic.models.local import SHORT_MAX_CHARACTERS, MiniLM
from tests.waiting import wait_for

TEXTS = [
    f"Note {number}: " + "the harbour was closed by fog. " * (number % 4)
    for number in range(REQUEST_MAX_TEXTS + 5)
]


def _children() -> set[int]:
    found = set()
    for status in Path("/proc").glob("[0-9]*/stat"):
        with suppress(FileNotFoundError, ProcessLookupError):  # It has ended.
            parent = int(status.read_text().rpartition(")")[2].split()[1])
            if parent == os.getpid() and b"embedding_child" in (status.parent / "cmdline").read_bytes():
                found.add(int(status.parent.name))
    return found


def autogroup_niceness(pid: int) -> int | None:
    """The weight of the session where the kernel groups processes by session; None elsewhere."""
    try:
        return int(Path(f"/proc/{pid}/autogroup").read_text().split()[-1])
    except (OSError, IndexError):
        return None


def test_requests_have_few_texts_and_characters() -> None:
    texts = ["x" * (REQUEST_MAX_CHARACTERS - 1), *"ab", *["y" * 100] * (REQUEST_MAX_TEXTS + 1), "z" * 10**6]
    parts = parts_of(texts)
    assert [text for part in parts for text in part] == texts
    assert [len(part) for part in parts] == [2, REQUEST_MAX_TEXTS, 3]
    assert parts_of([]) == []


async def test_many_and_long_texts_get_the_same_vectors_in_another_process() -> None:
    here, apart = MiniLM(), MiniLM(process_environment={})
    try:
        np.testing.assert_allclose(await apart.embed(TEXTS), await here.embed(TEXTS), atol=1e-5)
        long_text = ["word " * SHORT_MAX_CHARACTERS]
        np.testing.assert_allclose(await apart.embed(long_text), await here.embed(long_text), atol=1e-5)
        (child,) = _children()
        assert os.getpriority(os.PRIO_PROCESS, child) >= NICENESS
        assert os.getsid(child) == child
        assert autogroup_niceness(child) in (None, NICENESS)
    finally:
        await apart.aclose()
        await here.aclose()
    assert not _children()


async def test_a_single_short_text_starts_no_process() -> None:
    engine = MiniLM(process_environment={})
    await engine.embed(["Where does Alice live?"], input_type="query")
    assert not _children()
    await engine.aclose()


async def test_a_process_that_was_killed_fails_one_call_and_is_replaced() -> None:
    engine = MiniLM(process_environment={})
    try:
        first = await engine.embed(TEXTS)
        (child,) = _children()
        os.kill(child, signal.SIGKILL)
        with pytest.raises(EmbeddingError, match="the next call starts another"):
            await engine.embed(TEXTS)
        np.testing.assert_allclose(await engine.embed(TEXTS), first, atol=1e-5)
        assert _children() != {child}
    finally:
        await engine.aclose()


async def test_it_ends_when_its_input_ends() -> None:
    engine = MiniLM(process_environment={})
    await engine.embed(TEXTS)
    (child,) = _children()
    await engine.aclose()
    await wait_for(lambda: child not in _children())
    with pytest.raises(RuntimeError):
        await engine.embed(TEXTS)
