"""Which extractor reads a batch: the configured one, or the rules if its language model fails."""

import logging
from dataclasses import replace
from typing import Literal

from mnemic.errors import ConfigurationError, LanguageModelError, SpendCapError
from mnemic.extraction.extracting import extract_batch
from mnemic.extraction.language_extractor import LanguageExtractor
from mnemic.extraction.protocol import Extractor
from mnemic.extraction.storing import AndThen, SourceBatch, StoredStatements
from mnemic.runtime.core import Caller, Core

logger = logging.getLogger("mnemic.extraction")


def open_extractor(core: Core, rules: Extractor) -> Extractor:
    """The extractor that the settings name. ConfigurationError if it needs an LLM and there is none."""
    if core.settings.extractor == "rules":
        return rules
    if core.language_model is None:
        raise ConfigurationError("The extractor 'llm' needs an LLM: set llm to 'provider:model'.")
    return LanguageExtractor(core.language_model, timeout_s=core.settings.extraction_timeout_s)


async def extract_or_fall_back(
    caller: Caller,
    extractor: Extractor,
    rules: Extractor,
    batch: SourceBatch,
    *,
    policy: Literal["prefer_new", "prefer_old", "flag_review"] | None = None,
    and_then: AndThen | None = None,
) -> StoredStatements:
    """Extract statements from a batch; by the rules if the model fails, is too slow or answers nonsense.

    The batch is marked as read by the extractor that read it, so that another model may read it later.
    SpendCapError reaches the caller: a job is then parked until the period of the cap ends.
    """
    by_model = replace(batch, extractor=extractor.name)
    try:
        return await extract_batch(caller, extractor, by_model, policy=policy, and_then=and_then)
    except SpendCapError:
        raise
    except LanguageModelError as error:
        logger.warning("%s failed, rules read the turns instead: %s", extractor.name, error)
    by_rules = replace(batch, extractor=rules.name)
    return await extract_batch(caller, rules, by_rules, policy=policy, and_then=and_then)
