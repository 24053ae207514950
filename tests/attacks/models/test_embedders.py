"""Embedders that hang, fail or return nonsense lose no text, and tell no secrets."""

import asyncio
import logging
import threading
from collections.abc import Sequence
from typing import Any

import pytest

from mnemic.errors import ConfigurationError, EmbeddingError
from mnemic.models import model_calls
from mnemic.models.failure_report import without_secrets
from mnemic.models.testing import HashedWords
from tests.attacks.models.hostile_engines import (
    ANSWERS,
    PROMPT,
    SECRET,
    Hanging,
    Hostile,
    Streaming,
    Synchronous,
    Unprintable,
)
from tests.fresh_tenants import OpenMemory, Rows

SHORT = {"embedding_timeout_s": 0.05, "query_embedding_timeout_s": 0.05}
BACKLOG = "SELECT last_error FROM queue.embedding_backlog WHERE memory_id = %s"
TEXT = "Alice lives in Berlin."


async def test_whatever_an_embedder_returns_the_text_is_stored_and_the_error_names_it(
    open_memory: OpenMemory, rows: Rows, subtests: pytest.Subtests
) -> None:
    for label, answer in ANSWERS.items():
        with subtests.test(label):
            memory = await open_memory(embedder=Hostile(answer))
            retained = await memory.retain(TEXT)
            assert (retained.stored_count, retained.awaiting_embedding_count) == (1, 1)
            error = str(rows.value(BACKLOG, retained.memory_ids[0]))
            assert "hostile:one returned an unusable result" in error
            assert SECRET not in error
            found = await memory.recall("Where does Alice live?")
            assert TEXT in found.text
            assert "hostile:one returned an unusable result" in " ".join(found.notes)


async def test_an_embedder_that_is_not_async_is_a_clear_error(
    open_memory: OpenMemory, rows: Rows, subtests: pytest.Subtests
) -> None:
    for engine in (Synchronous(lambda texts: None), Streaming(lambda texts: None)):
        with subtests.test(type(engine).__name__):
            retained = await (await open_memory(embedder=engine)).retain(TEXT)
            assert "must be `async def`" in str(rows.value(BACKLOG, retained.memory_ids[0]))


async def test_an_embedder_with_an_unusable_name_or_dimension_is_refused_on_opening(
    open_memory: OpenMemory, subtests: pytest.Subtests
) -> None:
    for name in ("", "x" * 257, "a\0b", "line\nbreak", 7, None, "\ud800"):
        with subtests.test(f"name {name!r}"):
            engine = Hostile(lambda texts: None)
            engine.name = name  # type: ignore[assignment]
            with pytest.raises(ConfigurationError, match="Hostile has no usable name"):
                await (await open_memory(embedder=engine)).retain(TEXT)
    for dimensions in (0, -1, 4_001, 3.0, "3", True):
        with subtests.test(f"dimensions {dimensions!r}"):
            engine = Hostile(lambda texts: None)
            engine.dimensions = dimensions
            with pytest.raises(ConfigurationError, match="hostile:one: `dimensions` must be"):
                await (await open_memory(embedder=engine)).retain(TEXT)


async def test_a_hanging_embedder_loses_no_text_and_delays_only_the_first_call(
    open_memory: OpenMemory, rows: Rows
) -> None:
    engine = Hanging()
    memory = await open_memory(embedder=engine, settings=SHORT)
    async with asyncio.timeout(60):
        first = await memory.retain(TEXT)
        second = await memory.retain("Bob lives in Bonn.")
        found = await memory.recall("Where does Alice live?")
    assert [each.awaiting_embedding_count for each in (first, second)] == [1, 1]
    assert "gave no answer within 0.05 s" in str(rows.value(BACKLOG, first.memory_ids[0]))
    assert "is not called again for" in str(rows.value(BACKLOG, second.memory_ids[0]))
    assert TEXT in found.text
    assert "is not called again for" in " ".join(found.notes)
    assert engine.call_count == 1


async def test_a_hanging_embedder_delays_recall_by_its_own_limit(open_memory: OpenMemory) -> None:
    memory = await open_memory(embedder=Hanging(), settings={"query_embedding_timeout_s": 0.05})
    async with asyncio.timeout(60):
        found = await memory.recall("Where does Alice live?")
    assert "gave no answer within 0.05 s" in " ".join(found.notes)


async def test_all_batches_of_a_call_are_stored_while_the_embedder_hangs(open_memory: OpenMemory) -> None:
    engine = Hanging()
    memory = await open_memory(embedder=engine, settings=SHORT)
    async with asyncio.timeout(60):
        retained = await memory.retain_many(f"Fact number {number}." for number in range(1_100))
    assert (retained.stored_count, retained.awaiting_embedding_count) == (1_100, 1_100)
    assert engine.call_count == 1


async def test_calls_that_ignore_their_cancellation_are_abandoned_and_bounded(
    open_memory: OpenMemory, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_calls, "PAUSE_FIRST_S", 0.0)
    monkeypatch.setattr(model_calls, "PAUSE_MAX_S", 0.0)
    monkeypatch.setattr(model_calls, "CANCEL_GRACE_S", 0.01)
    engine = Hanging(stubborn=True)
    memory = await open_memory(embedder=engine, settings=SHORT)
    try:
        async with asyncio.timeout(60):
            retained = [await memory.retain(f"Fact number {number}.") for number in range(8)]
        assert engine.call_count == model_calls.ABANDONED_MAX
        assert all(each.awaiting_embedding_count == 1 for each in retained)
        last = str(rows.value(BACKLOG, retained[-1].memory_ids[0]))
        assert "hang and ignore their cancellation" in last
    finally:
        engine.released.set()


async def test_an_embedder_that_answers_again_embeds_the_backlog(
    open_memory: OpenMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_calls, "PAUSE_FIRST_S", 0.01)
    engine = Hanging(name="test:hash-64")
    memory = await open_memory(embedder=engine, settings=SHORT)
    assert (await memory.retain(TEXT)).awaiting_embedding_count == 1
    again = await open_memory(memory.tenant.name, embedder=HashedWords())
    assert await again.admin.embed_backlog() == 1


async def test_an_embedder_that_cancels_itself_has_failed(open_memory: OpenMemory, rows: Rows) -> None:
    def cancel(texts: Sequence[str]) -> Any:
        raise asyncio.CancelledError

    retained = await (await open_memory(embedder=Hostile(cancel))).retain(TEXT)
    assert "cancelled itself" in str(rows.value(BACKLOG, retained.memory_ids[0]))


async def test_an_embedder_that_ends_the_program_reaches_the_caller_and_the_next_call_works(
    open_memory: OpenMemory, subtests: pytest.Subtests
) -> None:
    for error in (SystemExit(3), KeyboardInterrupt(), GeneratorExit()):
        with subtests.test(type(error).__name__):

            def leave(texts: Sequence[str], error: BaseException = error) -> Any:
                raise error

            memory = await open_memory(embedder=Hostile(leave))
            with pytest.raises(type(error)):
                await memory.retain(TEXT)
            assert (await memory.admin.stats()).awaiting_embedding_count == 0


async def test_messages_of_exceptions_reach_the_log_without_secrets_and_no_caller(
    open_memory: OpenMemory, rows: Rows, caplog: pytest.LogCaptureFixture, subtests: pytest.Subtests
) -> None:
    errors: list[Exception] = [
        RuntimeError(f"401 for https://user:pass@models.example/v1?api_key={SECRET} with {PROMPT}"),
        ValueError({"Authorization": f"Bearer {SECRET}", "prompt": PROMPT}),
        OSError(f"api_key={SECRET}"),
        Unprintable(),
        ExceptionGroup(SECRET, [RuntimeError(SECRET)]),
    ]
    for error in errors:
        with subtests.test(type(error).__name__):
            caplog.clear()

            def fail(texts: Sequence[str], error: Exception = error) -> Any:
                raise error

            memory = await open_memory(embedder=Hostile(fail))
            with caplog.at_level(logging.WARNING, "mnemic.models"):
                retained = await memory.retain(TEXT)
                found = await memory.recall("Where does Alice live?")
                with pytest.raises(EmbeddingError) as caught:
                    await memory.admin.embed_backlog()
            stored = str(rows.value(BACKLOG, retained.memory_ids[0]))
            for said in (stored, " ".join(found.notes), str(caught.value)):
                assert f"hostile:one failed: {type(error).__name__} (reference " in said
                assert SECRET not in said
                assert "pass" not in said
                assert PROMPT not in said
            reference = stored.partition("(reference ")[2][:8]
            assert f"(reference {reference})" in caplog.text
            assert SECRET not in caplog.text
            assert "user:pass" not in caplog.text


async def test_the_error_of_a_job_holds_no_message_of_a_model(open_memory: OpenMemory, rows: Rows) -> None:
    def fail(texts: Sequence[str]) -> Any:
        raise RuntimeError(f"{SECRET} {PROMPT}")

    memory = await open_memory(embedder=Hostile(fail))

    async def embed(job: object) -> None:
        await memory.admin.embed_backlog()

    await memory.retain(TEXT)
    memory.jobs.handler("embed.it")(embed)
    job = await memory.jobs.enqueue("embed.it", max_attempts=1)
    work = asyncio.create_task(memory.jobs.work())
    ended = await memory.jobs.wait(job.job_id)
    work.cancel()
    await asyncio.wait({work})
    assert ended.state == "dead"
    assert ended.error is not None
    assert "EmbeddingError" in str(ended.error)
    assert SECRET not in str(ended.error)
    assert PROMPT not in str(ended.error)


def test_what_looks_like_a_secret_is_redacted(subtests: pytest.Subtests) -> None:
    secrets = {
        "https://alice:hunter2@host/path": "hunter2",
        "https://host/path?token=abc&x=1": "abc",
        "Authorization: Bearer abc.def": "abc.def",
        "Authorization: Basic dXNlcjpwYXNz": "dXNlcjpwYXNz",
        '{"api_key": "short1"}': "short1",
        "OPENAI_API_KEY=short2": "short2",
        "password is 'short3'": "short3",
        "Incorrect API key provided: sk-abcdefghijklmnop.": "sk-abcdefghijklmnop",
        "x-goog-api-key: AIzaSyA1234567890abcdefghij": "AIzaSyA1234567890abcdefghij",
        f"got {'a1' * 20} back": "a1" * 20,
    }
    for text, secret in secrets.items():
        with subtests.test(text):
            assert secret not in without_secrets(text)
    assert without_secrets("HTTP 429: too many requests, retry in 20 s") == (
        "HTTP 429: too many requests, retry in 20 s"
    )


async def test_a_thread_that_a_model_blocks_does_not_block_the_call(open_memory: OpenMemory) -> None:
    release = threading.Event()

    class Blocking(Hostile):
        async def embed(self, texts: Sequence[str], *, input_type: str) -> Any:
            await asyncio.to_thread(release.wait)

    memory = await open_memory(embedder=Blocking(lambda texts: None), settings=SHORT)
    try:
        async with asyncio.timeout(60):
            assert (await memory.retain(TEXT)).awaiting_embedding_count == 1
    finally:
        release.set()
