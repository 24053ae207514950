"""A test model that can fail, and can run a callback while it embeds."""

from collections.abc import Awaitable, Callable, Sequence

from mnemic.models.engine import FloatArray, InputType
from mnemic.models.testing import HashedWords


class Unsteady(HashedWords):
    """`meanwhile` runs once, during the next call; `error` is raised by every call as long as it is set."""

    def __init__(self, dimensions: int = 64, *, name: str | None = None, failing: bool = False) -> None:
        super().__init__(dimensions, failing=failing)
        self.meanwhile: Callable[[], Awaitable[object]] | None = None
        self.error: Exception | None = None
        self._name = name

    @property
    def name(self) -> str:
        return self._name or super().name

    async def embed(self, texts: Sequence[str], *, input_type: InputType = "document") -> FloatArray:
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            await meanwhile()
        if self.error is not None:
            raise self.error
        return await super().embed(texts, input_type=input_type)
