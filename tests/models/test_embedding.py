"""Opening an embedder from its configured value, and errors for unusable results."""

import asyncio
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from pydantic_ai.embeddings import Embedder, EmbeddingModel, EmbeddingResult, TestEmbeddingModel

from mnemic.errors import ConfigurationError, EmbeddingError
from mnemic.models import pydantic_bridge
from mnemic.models.embedding import EmbedderSpec, open_embedder
from mnemic.models.engine import InputType
from mnemic.models.pydantic_bridge import (
    MAX_REQUEST_TEXTS,
    MAX_REQUESTS,
    HashEmbeddingModel,
    LocalEmbeddingModel,
)
from mnemic.models.testing import HashedWords

Answer = Callable[[Sequence[str]], Any]


class ScriptedModel(EmbeddingModel):
    """A provider with scripted results; records its requests."""

    def __init__(self, answer: Answer, *, dimensions: int | None = None) -> None:
        super().__init__(settings={"dimensions": dimensions} if dimensions else None)
        self.answer = answer
        self.asked: list[tuple[str, int]] = []
        self.under_way = self.most_under_way = 0

    @property
    def model_name(self) -> str:
        return "scripted-1"

    @property
    def system(self) -> str:
        return "theatre"

    async def embed(
        self, inputs: str | Sequence[str], *, input_type: InputType, settings: object = None
    ) -> EmbeddingResult:
        self.asked.append((input_type, len(inputs)))
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        await asyncio.sleep(0)
        self.under_way -= 1
        return EmbeddingResult(
            self.answer(inputs),
            inputs=list(inputs),
            input_type=input_type,
            model_name=self.model_name,
            provider_name=self.system,
        )


def constant(*numbers: float) -> Answer:
    return lambda texts: [list(numbers) for _ in texts]


CHEAP_USE = """
import asyncio, sys
from mnemic.models.embedding import open_embedder
open_embedder("local")
asyncio.run(open_embedder("test").embed_query("hello"))
print(sorted({"onnxruntime", "pydantic", "pydantic_ai"} & set(sys.modules)))
"""


def test_opening_the_default_embedders_imports_nothing_large() -> None:
    run = subprocess.run([sys.executable, "-c", CHEAP_USE], capture_output=True, check=True, text=True)
    assert run.stdout == "[]\n"


@pytest.mark.parametrize("spec", [None, 7, "", "nonsense", ":model", "provider:", object()])
def test_an_invalid_embedder_is_a_configuration_error(spec: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"is not an embedder.*'local'.*'provider:model'"):
        open_embedder(spec)


def test_the_error_without_pydantic_ai_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "mnemic.models.pydantic_bridge")
    monkeypatch.setitem(sys.modules, "pydantic_ai.embeddings", None)
    with pytest.raises(
        ConfigurationError, match=r"'mnemic\[providers\]', or in a clone .* -e '\.\[providers\]'"
    ):
        open_embedder("openai:text-embedding-3-small")


def test_an_unknown_provider_is_a_configuration_error() -> None:
    with pytest.raises(ConfigurationError, match="Unknown provider: nobody"):
        open_embedder("nobody:model")


def test_a_missing_provider_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    # It may have been imported already.
    for name in [name for name in sys.modules if name.startswith("pydantic_ai.providers.openai")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(ConfigurationError, match=r"pip install .*\[openai\]"):
        open_embedder("openai:text-embedding-3-small")


def test_a_missing_key_names_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYDANTIC_AI_GATEWAY_API_KEY", raising=False)
    with pytest.raises(ConfigurationError, match="PYDANTIC_AI_GATEWAY_API_KEY") as caught:
        open_embedder("gateway/openai:text-embedding-3-small")
    assert "Agent" not in str(caught.value)


def test_the_name_has_provider_model_and_dimensions() -> None:
    model = ScriptedModel(constant(1))
    assert open_embedder(model).name == "theatre:scripted-1"
    assert open_embedder(Embedder(model)).name == "theatre:scripted-1"
    assert open_embedder(ScriptedModel(constant(1), dimensions=256)).name == "theatre:scripted-1@256"
    assert open_embedder(Embedder(model, settings={"dimensions": 128})).name == "theatre:scripted-1@128"


async def test_an_embedder_of_pydantic_ai_can_be_used() -> None:
    embedder = open_embedder(Embedder(TestEmbeddingModel(dimensions=5)))
    assert embedder.dimensions is None
    vectors = await embedder.embed_documents(["a", "b"])
    assert vectors.shape == (2, 5)
    assert embedder.dimensions == 5


async def test_queries_and_documents_have_different_input_types() -> None:
    model = ScriptedModel(constant(1, 2))
    embedder = open_embedder(model)
    await embedder.embed_query("?")
    await embedder.embed_documents(["."])
    assert model.asked == [("query", 1), ("document", 1)]


async def test_vectors_have_length_one() -> None:
    vector = await open_embedder(ScriptedModel(constant(3e30, 4e30))).embed_query("large numbers")
    np.testing.assert_allclose(vector, [0.6, 0.8], rtol=1e-6)


async def test_many_texts_are_sent_in_bounded_requests_and_keep_their_order() -> None:
    model = ScriptedModel(lambda texts: [[float(text), 1.0] for text in texts])
    count = MAX_REQUEST_TEXTS * (MAX_REQUESTS * 2) + 1
    vectors = await open_embedder(model).embed_documents([str(number) for number in range(count)])
    np.testing.assert_allclose(vectors[:, 0] / vectors[:, 1], np.arange(count), rtol=1e-4)
    assert max(size for _, size in model.asked) == MAX_REQUEST_TEXTS
    assert model.most_under_way == MAX_REQUESTS


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (constant(float("nan"), 1), "NaN or infinity"),
        (constant(float("inf"), 1), "NaN or infinity"),
        (constant(0, 0), "zeros"),
        (constant(), "zeros"),
        (lambda texts: [[1.0]] * (len(texts) + 1), "3 vectors for 2 texts"),
        (lambda texts: [], "0 vectors for 2 texts"),
        (lambda texts: [1.0 for _ in texts], "float instead of a vector"),
        (lambda texts: [[1.0], [1.0, 2.0]], "rows that do not form an array"),
        (lambda texts: 1 / 0, "ZeroDivisionError"),
    ],
)
async def test_an_unusable_result_is_an_embedding_error(answer: Answer, message: str) -> None:
    with pytest.raises(EmbeddingError, match=message):
        await open_embedder(ScriptedModel(answer)).embed_documents(["one", "two"])


async def test_a_changed_number_of_dimensions_is_an_error() -> None:
    model = ScriptedModel(constant(1, 2))
    embedder = open_embedder(model)
    await embedder.embed_query("first")
    model.answer = constant(1, 2, 3)
    with pytest.raises(EmbeddingError, match="3 dimensions, not 2 as before"):
        await embedder.embed_query("second")
    assert embedder.dimensions == 2


async def test_the_providers_error_is_kept_as_cause() -> None:
    def fail(texts: Sequence[str]) -> Any:
        raise ConnectionResetError("by peer") from OSError("cable")

    with pytest.raises(EmbeddingError, match=r"scripted-1 failed: ConnectionResetError \(ref") as caught:
        await open_embedder(ScriptedModel(fail)).embed_documents(["text"] * (MAX_REQUEST_TEXTS + 1))
    assert isinstance(caught.value.__cause__, ConnectionResetError)
    assert isinstance(caught.value.__cause__.__cause__, OSError)


async def test_a_provider_that_does_not_respond_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    class SilentModel(ScriptedModel):
        async def embed(self, *args: object, **settings: object) -> EmbeddingResult:
            await asyncio.Event().wait()
            raise AssertionError("the event is never set")

    monkeypatch.setattr(pydantic_bridge, "REQUEST_TIMEOUT_S", 0.01)
    with pytest.raises(EmbeddingError, match="no answer within"):
        await open_embedder(SilentModel(constant(1))).embed_query("hello?")


async def test_cancelling_is_not_a_failure_of_the_model() -> None:
    started = asyncio.Event()

    class SlowEngine(HashedWords):
        async def embed(self, *args: object, **settings: object) -> Any:
            started.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(open_embedder(SlowEngine()).embed_query("hello?"))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_the_local_model_works_with_pydantic_ais_embedder() -> None:
    model = LocalEmbeddingModel()
    result = await Embedder(model).embed_documents(["Alice moved to Berlin.", "Bob stayed."])
    expected = await model.engine.embed(["Alice moved to Berlin.", "Bob stayed."], input_type="document")
    np.testing.assert_allclose(result.embeddings, expected, atol=1e-6)
    assert (result.provider_name, result.model_name) == ("local", "all-MiniLM-L6-v2")
    assert await model.max_input_tokens() == 256
    assert await model.count_tokens("Alice moved to Berlin.") == 7


async def test_a_model_of_mnemic_has_the_same_name_as_object_and_by_name() -> None:
    specs: list[EmbedderSpec] = ["test", HashedWords(), HashEmbeddingModel(), Embedder(HashEmbeddingModel())]
    embedders = [open_embedder(spec) for spec in specs]
    assert {embedder.name for embedder in embedders} == {"test:hash-64"}
    vectors = [await embedder.embed_query("Alice moved to Berlin.") for embedder in embedders]
    for vector in vectors[1:]:
        np.testing.assert_allclose(vector, vectors[0], atol=1e-6)


async def test_closing_does_not_close_a_model_passed_as_object() -> None:
    model = LocalEmbeddingModel()
    first, second = open_embedder(model), open_embedder(model)
    await first.aclose()
    assert (await second.embed_query("Still there?")).shape == (384,)
