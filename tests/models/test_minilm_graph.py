"""The network that is built for int8 operators, beside the network of the file that it is built from."""

from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from mnemic.models import local as local_module
from mnemic.models.embedding import TextEmbedder
from mnemic.models.engine import FloatArray
from mnemic.models.onnx_format import Graph, read_tensors
from mnemic.models.wordpiece import encode

SHORT_TEXTS = ["", "ok", "who?", "E55", "Hello!", "今天天气很好", "Where does Alice live?"]
TEXTS = [
    *SHORT_TEXTS,
    "That's really cool. You've got",
    "What did Melanie paint after the support group in July 2023?",
    "Wann fährt der Zug nach Zürich, und was kostet er am Wochenende?",
    "def total(items): return sum(item.price for item in items)",
    "It rained all day and nobody came to see the garden. " * 20,
]
COSINE_MIN = 0.999


@cache
def _network_of_the_file() -> Any:
    return import_module("onnxruntime").InferenceSession(
        local_module._read_model(), providers=["CPUExecutionProvider"]
    )


def _vector_of_the_file(text: str) -> FloatArray:
    ids = np.array([encode(text, local_module.MAX_TOKENS)], np.int64)
    inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
    mean: FloatArray = _network_of_the_file().run(None, inputs)[0][0].mean(axis=0)
    return mean / np.linalg.norm(mean)


async def test_vectors_agree_with_those_of_the_file(local: TextEmbedder, subtests: pytest.Subtests) -> None:
    for text in TEXTS:
        with subtests.test(text[:30]):
            assert await local.embed_query(text) @ _vector_of_the_file(text) > COSINE_MIN


def test_a_written_network_runs_and_its_tensors_are_read_back() -> None:
    matrix = np.arange(6, dtype=np.float32).reshape(2, 3)
    graph = Graph()
    given = graph.input("given", np.float32, ["rows", "columns"])
    graph.output("product", graph.add("MatMul", given, graph.constant(matrix)), ["rows", "columns"])
    model = graph.model()

    (read,) = read_tensors(model).values()
    np.testing.assert_array_equal(read, matrix)
    network = import_module("onnxruntime").InferenceSession(model, providers=["CPUExecutionProvider"])
    (product,) = network.run(None, {"given": np.ones((1, 2), np.float32)})
    np.testing.assert_array_equal(product, [[3, 5, 7]])
