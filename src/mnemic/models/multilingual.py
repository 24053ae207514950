"""The multilingual Universal Sentence Encoder on this machine: 512 dimensions, 16 languages, no network.

It was trained on Arabic, Chinese, Dutch, English, French, German, Italian, Japanese, Korean, Polish,
Portuguese, Russian, Spanish, Thai and Turkish; texts that mean the same are near in all of them. Google
published it under the Apache License 2.0. The package `nanoranker` (MIT) carries it as one ONNX file,
quantised and
with its tokenizer, which is an operator of the package `onnxruntime-extensions` (MIT). Both are the extra
`multilingual`.

A text is a run of its own, on one of a few threads: 5 ms for a question, 18 ms for a paragraph of 120
words. Only the first
`MAX_CHARACTERS` are embedded. The network is loaded when first needed, once per process: 1.5 s.
"""

import asyncio
import hashlib
import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import cast

import numpy as np

from mnemic.errors import ConfigurationError, EmbeddingError, install_extra
from mnemic.models.engine import FloatArray, InputType
from mnemic.models.local import MAX_THREADS, Network

DIMENSIONS = 512
MODEL_NAME = "universal-sentence-encoder-multilingual"

MAX_CHARACTERS = 2_000
"""About as much as MiniLM embeds; the time grows with the length."""

_PACKAGE = "nanoranker"
_OPERATORS = "onnxruntime_extensions"
_FILE = "resources/universal-sentence-encoder-multilingual.onnx"
_FILE_SHA256 = "b8b05b01f0861094f0475cb288ad1b303ae8aee2ebe96e650d210805d5ca70f7"
_ERRORS_ONLY = 3

_loading = threading.Lock()


class MultilingualEncoder:
    """The engine. Any number of tasks, event loops and threads may use one at the same time."""

    name = f"local:{MODEL_NAME}"
    dimensions = DIMENSIONS

    def __init__(self) -> None:
        if find_spec(_PACKAGE) is None or find_spec(_OPERATORS) is None:
            raise ConfigurationError(
                f"The multilingual embedding model is missing. {install_extra('multilingual')}."
            )
        self._threads = ThreadPoolExecutor(
            min(os.cpu_count() or 1, MAX_THREADS), thread_name_prefix="mnemic-embed-multilingual"
        )

    async def embed(self, texts: Sequence[str], *, input_type: InputType = "document") -> FloatArray:
        """Vectors of length one, (len(texts), 512). The model makes no difference between input types."""
        loop = asyncio.get_running_loop()
        vectors = await asyncio.gather(
            *(loop.run_in_executor(self._threads, _embed, text[:MAX_CHARACTERS]) for text in texts)
        )
        return np.array(vectors, np.float32).reshape(len(texts), DIMENSIONS)

    async def aclose(self) -> None:
        """Shut down the threads. Running texts end by themselves; queued ones are dropped."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def _embed(text: str) -> FloatArray:
    network = _load_network()
    (vector,) = network.run(None, {"inputs": np.array([text], object)})[0]
    return cast(FloatArray, vector / (np.linalg.norm(vector) or 1.0))


def _load_network() -> Network:
    with _loading:
        return _load_once()


@cache
def _load_once() -> Network:
    model = _read_model()
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    runtime, operators = import_module("onnxruntime"), import_module(_OPERATORS)
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.enable_mem_pattern = False
    options.log_severity_level = _ERRORS_ONLY
    options.register_custom_ops_library(operators.get_library_path())
    return cast(Network, runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"]))


def _read_model() -> bytes:
    """The bytes of the network, verified by their checksum."""
    # Found without importing the package, which would load its models.
    spec = find_spec(_PACKAGE)
    folder = Path(spec.origin).parent if spec is not None and spec.origin is not None else Path()
    try:
        model = (folder / _FILE).read_bytes()
    except OSError as error:
        raise EmbeddingError(
            f"The multilingual embedding model cannot be read: {error}. {_REINSTALL}"
        ) from error
    if hashlib.sha256(model).hexdigest() != _FILE_SHA256:
        raise EmbeddingError(f"The multilingual embedding model in {folder} is another file. {_REINSTALL}")
    return model


_REINSTALL = "Reinstall it: pip install --force-reinstall nanoranker==1.2"
