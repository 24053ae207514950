"""A test model that keeps what it was asked to embed."""

from collections.abc import Sequence

from mnemic.models.engine import FloatArray, InputType
from tests.unsteady_engine import Unsteady


class Counting(Unsteady):
    """`texts` are the documents of all calls that did not fail, `batches` how many calls that were."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.batches = 0

    async def embed(self, texts: Sequence[str], *, input_type: InputType = "document") -> FloatArray:
        vectors = await super().embed(texts, input_type=input_type)
        if input_type == "document":
            self.texts += texts
            self.batches += 1
        return vectors
