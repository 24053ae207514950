"""Calls a language model, with structured output.

`open_language_model` takes the configured value and returns a `LanguageModel`, the interface for the rest of
Mnemic. Its one method takes a task and a text and returns a validated pydantic object. Input and output are
bounded, each call has a time limit, and the errors of all libraries are translated to `LanguageModelError`.
With a spend ledger (`metered`), no request is made that might exceed a cap (`metered_model.py`).

All providers are called through pydantic-ai. It is an optional extra and takes 0.8 s to import, so it is
imported only when a model is configured.
"""

import sys
from collections.abc import Awaitable, Callable
from copy import copy
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, Union

from pydantic import BaseModel

from mnemic.errors import ConfigurationError, LanguageModelError, install_extra
from mnemic.models.model_calls import ModelCalls, kind_of
from mnemic.models.spending import SpendLedger
from mnemic.types.spend import CallPurpose

if TYPE_CHECKING:
    from pydantic_ai.models import Model

LanguageModelSpec: TypeAlias = Union[str, "Model"]

Output = TypeVar("Output", bound=BaseModel)

INPUT_MAX_CHARACTERS = 80_000
"""Longest text of one call: about 20,000 tokens of English, which fits into every current model."""

OUTPUT_MAX_TOKENS = 2_048
"""Longest output by default, reasoning included."""

OPENAI_HOST = "api.openai.com"

REQUESTS_MAX = 2
"""Requests for one result: after an invalid output the model gets one retry with the validation error."""

# Control characters except tab, line feed and carriage return; lone surrogates.
_REMOVED_CHARACTERS = {
    code: None for code in (*range(0x20), 0x7F, *range(0xD800, 0xE000)) if code not in (9, 10, 13)
}


def open_language_model(spec: LanguageModelSpec | None) -> "LanguageModel | None":
    """Make the language model that `spec` names, or None for None; no provider is called yet.

    ``"provider:model"`` is any that pydantic-ai knows; a `Model` of pydantic-ai is used as it is. Raises
    ConfigurationError that names a missing package or key.
    """
    if spec is None:
        return None
    # An object of pydantic-ai exists only if pydantic-ai has been imported.
    possible = all(spec.partition(":")) if isinstance(spec, str) else "pydantic_ai" in sys.modules
    model = _infer(spec) if possible else None
    if model is None:
        raise ConfigurationError(
            f"{spec!r} is not a language model. Use 'provider:model' such as 'openai:gpt-5-mini', or a Model "
            "of pydantic-ai."
        )
    return LanguageModel(model)


class LanguageModel:
    """A language model of any provider, for use in one event loop. It need not be closed."""

    def __init__(self, model: "Model") -> None:
        self._model = model
        self.name = f"{model.system}:{model.model_name}"
        self._calls = ModelCalls(f"language model {self.name}", LanguageModelError)
        self._ledger: SpendLedger | None = None

    def metered(self, ledger: SpendLedger) -> "LanguageModel":
        """The same model, with its pauses and time limits, whose calls are counted in a ledger."""
        counted = copy(self)
        counted._ledger = ledger
        return counted

    async def answer(
        self,
        task: str,
        text: str,
        output: type[Output],
        *,
        timeout_s: float,
        purpose: CallPurpose = "other",
        max_tokens: int = OUTPUT_MAX_TOKENS,
    ) -> Output:
        """Apply the instructions `task` to `text`; returns an object of the class `output`.

        Untrusted text belongs into `text`, never into `task`. Strings of the result are not cleaned: see
        `usable_text`. `max_tokens` limits the output, reasoning included. Raises LanguageModelError, also
        after `timeout_s`, and SpendCapError if the call might exceed a spend cap.
        """
        if len(text) > INPUT_MAX_CHARACTERS:
            size = f"{len(text):,} characters; the limit is {INPUT_MAX_CHARACTERS:,}"
            raise LanguageModelError(f"The text for the language model {self.name} has {size}.")
        usable = usable_text(text, INPUT_MAX_CHARACTERS)
        model, settled = self._metered(purpose)
        try:
            answer = await self._calls.run(
                lambda: _ask(model, task, usable, output, max_tokens, timeout_s), timeout_s=timeout_s
            )
        finally:
            await settled()
        if not isinstance(answer, output):
            raise self._calls.unusable(kind_of(answer))
        return answer

    def _metered(self, purpose: CallPurpose) -> tuple["Model", Callable[[], Awaitable[None]]]:
        """The model for one call, and what to await when the call has ended."""
        if self._ledger is None:
            return self._model, _nothing
        from mnemic.models.metered_model import MeteredModel  # noqa: PLC0415 - it needs an optional extra

        metered = MeteredModel(self._model, self._ledger, purpose, self.name)
        return metered, metered.settled


async def _ask(
    model: "Model", task: str, text: str, output: type[Output], max_tokens: int, timeout_s: float
) -> Output:
    from pydantic_ai import Agent, NativeOutput, UsageLimits  # noqa: PLC0415 - an optional extra

    agent: Agent[object, Output] = Agent(
        model,
        output_type=NativeOutput(output) if _enforces_schemas_only(model) else output,
        instructions=task,
        retries=REQUESTS_MAX - 1,
        # Without a timeout of its own a provider's client ends a request after ten minutes.
        model_settings={"max_tokens": max_tokens, "timeout": timeout_s},
    )
    limits = UsageLimits(request_limit=REQUESTS_MAX)
    return (await agent.run(text, usage_limits=limits, infer_name=False)).output


def _enforces_schemas_only(model: "Model") -> bool:
    """Whether a model is served by another server than OpenAI's, by the same protocol.

    Servers of local models (llama.cpp, vLLM, LM Studio) enforce the JSON schema of an answer. Most do not
    enforce that a tool is called, so that a small model answers in prose.
    """
    return model.system == "openai" and OPENAI_HOST not in (model.base_url or OPENAI_HOST)


async def _nothing() -> None:
    """Without a ledger there is nothing to settle."""


def usable_text(text: str, max_characters: int) -> str:
    """`text` without characters that PostgreSQL or providers refuse (NUL, surrogates), trimmed and cut."""
    return text.translate(_REMOVED_CHARACTERS).strip()[:max_characters].rstrip()


def _infer(spec: object) -> "Model | None":
    """Look for the provider's package and key on opening, not at the first call."""
    models = _pydantic_ai_models()
    if not isinstance(spec, str):
        return spec if isinstance(spec, models.Model) else None
    try:
        model: Model = models.infer_model(spec)
    except ImportError as error:
        raise ConfigurationError(f"The language model {spec!r} needs a package: {error}") from error
    except Exception as error:
        # Each provider's client raises its own exceptions. pydantic-ai's message about a missing key names
        # the variable; the advice after it, to use its test model, would mislead here.
        reason = str(error).partition(" To try Pydantic AI")[0]
        raise ConfigurationError(f"The language model {spec!r} cannot be used: {reason}") from error
    return model


def _pydantic_ai_models() -> Any:
    """Imported when first needed."""
    try:
        from pydantic_ai import models  # noqa: PLC0415 - an optional extra
    except ImportError as error:
        raise ConfigurationError(
            f"A language model needs pydantic-ai, which cannot be imported ({error}). "
            f"{install_extra('providers')}; the extra for OpenAI and the like is openai."
        ) from error
    return models
