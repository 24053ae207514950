"""Questions to a language model, answered by objects of a known shape.

`open_language_model` reads what the user configured and gives back a `LanguageModel`, the only thing that the
rest of Mnemic sees. It has one method: a task and a text go in, a validated pydantic object comes out. The
model is trusted with nothing: what goes in and what comes out is bounded, each answer has a time limit, and
every failure, of whatever library, arrives as `LanguageModelError`.

All makers are reached through pydantic-ai. It is an extra and takes 0.8 s to import, so that it is loaded
only when a model is configured.
"""

import asyncio
import sys
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, Union

from pydantic import BaseModel

from mnemic.errors import ConfigurationError, LanguageModelError, MnemicError

if TYPE_CHECKING:
    from pydantic_ai.models import Model

LanguageModelSpec: TypeAlias = Union[str, "Model"]

Output = TypeVar("Output", bound=BaseModel)

INPUT_MAX_CHARACTERS = 80_000
"""Longest text of one question: about 20,000 tokens of English, which every model in use can read."""

OUTPUT_MAX_TOKENS = 2_048
"""Longest answer, the model's own thinking included."""

REQUESTS_MAX = 2
"""Requests for one answer: a model whose answer has the wrong shape is told so, once."""

REASON_MAX_CHARACTERS = 300
"""How much of what a provider says about its failure is repeated."""

# Control characters but tab, line feed and carriage return; and halves of a surrogate pair.
_REMOVED_CHARACTERS = {
    code: None for code in (*range(0x20), 0x7F, *range(0xD800, 0xE000)) if code not in (9, 10, 13)
}


def open_language_model(spec: LanguageModelSpec | None) -> "LanguageModel | None":
    """Make the language model that `spec` names, or None for None; no provider is called yet.

    ``"provider:model"`` is any that pydantic-ai knows; a `Model` of pydantic-ai is taken as it is. Raises
    ConfigurationError when a package or a key is missing, and says which.
    """
    if spec is None:
        return None
    # Whoever holds an object of pydantic-ai has imported it; for anything else it need not be loaded.
    possible = all(spec.partition(":")) if isinstance(spec, str) else "pydantic_ai" in sys.modules
    model = _infer(spec) if possible else None
    if model is None:
        raise ConfigurationError(
            f"{spec!r} is not a language model. Use 'provider:model' such as 'openai:gpt-5-mini', or a Model "
            "of pydantic-ai."
        )
    return LanguageModel(model)


class LanguageModel:
    """A language model of any maker. One event loop may use it; it holds nothing that must be closed."""

    def __init__(self, model: "Model") -> None:
        self._model = model
        self.name = f"{model.system}:{model.model_name}"

    async def answer(self, task: str, text: str, output: type[Output], *, timeout_s: float) -> Output:
        """What the model makes of `text` when it is given `task`, as an object of the class `output`.

        `task` is what Mnemic wants; whatever somebody else wrote belongs into `text`. The strings of the
        answer are as the model gave them: see `usable_text`. Raises LanguageModelError, also when the answer
        takes longer than `timeout_s`.
        """
        if len(text) > INPUT_MAX_CHARACTERS:
            size = f"{len(text):,} characters; the limit is {INPUT_MAX_CHARACTERS:,}"
            raise LanguageModelError(f"The text for the language model {self.name} has {size}.")
        box = asyncio.timeout(timeout_s)
        try:
            async with box:
                return await self._ask(task, usable_text(text, INPUT_MAX_CHARACTERS), output)
        except MnemicError:
            raise
        except Exception as error:
            # The one door to models of all makers, each with errors of its own: none may pass untranslated.
            late = isinstance(error, TimeoutError) and box.expired()
            problem = f"gave no answer within {timeout_s:g} s" if late else f"failed: {_reason(error)}"
            raise LanguageModelError(f"The language model {self.name} {problem}.") from error

    async def _ask(self, task: str, text: str, output: type[Output]) -> Output:
        from pydantic_ai import Agent, UsageLimits  # noqa: PLC0415 - an optional extra

        agent: Agent[object, Output] = Agent(
            self._model,
            output_type=output,
            instructions=task,
            retries=REQUESTS_MAX - 1,
            model_settings={"max_tokens": OUTPUT_MAX_TOKENS},
        )
        limits = UsageLimits(request_limit=REQUESTS_MAX)
        return (await agent.run(text, usage_limits=limits, infer_name=False)).output


def usable_text(text: str, max_characters: int) -> str:
    """`text` without what PostgreSQL and providers refuse (NUL, lone surrogates), trimmed and cut."""
    return text.translate(_REMOVED_CHARACTERS).strip()[:max_characters].rstrip()


def _reason(error: Exception) -> str:
    """The error in one line that is not too long, without the full stop that the sentence adds."""
    line = " ".join(f"{type(error).__name__}: {error}".split())
    return usable_text(line, REASON_MAX_CHARACTERS).rstrip(".:")


def _infer(spec: object) -> "Model | None":
    """Find the provider's package and key now, so that what is missing is said on opening."""
    models = _pydantic_ai_models()
    if not isinstance(spec, str):
        return spec if isinstance(spec, models.Model) else None
    try:
        model: Model = models.infer_model(spec)
    except ImportError as error:
        raise ConfigurationError(f"The language model {spec!r} needs a package: {error}") from error
    except Exception as error:
        # Each provider's client refuses to be made in its own way. What pydantic-ai says about a key that
        # is missing names the variable; the hint behind it, to its own test model, would mislead here.
        reason = str(error).partition(" To try Pydantic AI")[0]
        raise ConfigurationError(f"The language model {spec!r} cannot be used: {reason}") from error
    return model


def _pydantic_ai_models() -> Any:
    """Imported when first needed, like everything of pydantic-ai."""
    try:
        from pydantic_ai import models  # noqa: PLC0415 - an optional extra
    except ImportError as error:
        raise ConfigurationError(
            f"A language model needs pydantic-ai, which cannot be imported ({error}). "
            'Install it: pip install "mnemic[providers]", or "mnemic[openai]" for OpenAI and the like.'
        ) from error
    return models
