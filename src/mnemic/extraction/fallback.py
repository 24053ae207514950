"""Which extractor reads a batch: the configured one, or the rules if its language model fails."""

import logging
from dataclasses import replace

from mnemic.errors import ConfigurationError, LanguageModelError, SpendCapError
from mnemic.extraction.extracting import extract_batch
from mnemic.extraction.language_extractor import LanguageExtractor
from mnemic.extraction.protocol import Extractor
from mnemic.extraction.storing import AndThen, SourceBatch, StoredStatements
from mnemic.runtime.core import Caller, Core
from mnemic.types.statement import ContradictionPolicy

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
    policy: ContradictionPolicy | None = None,
    and_then: AndThen | None = None,
) -> StoredStatements:
    """Extract statements from a batch; by the rules if the model fails, is too slow or answers nonsense.

    A model reads one call's sources at a time, which commit by themselves, so that no paid answer is lost
    when a later call fails; `and_then` runs with the last ones. Sources are marked as read by the extractor
    that read them, so that another model may read them later. SpendCapError reaches the caller: a job is then
    parked until the period of the cap ends.
    """
    size = getattr(extractor, "sources_max", None) or len(batch.sources)
    parts = [batch.sources[start : start + size] for start in range(0, len(batch.sources), size)]
    total = StoredStatements()
    for number, part in enumerate(parts, 1):
        then = and_then if number == len(parts) else None
        by_model, by_rules = (
            replace(batch, sources=part, extractor=each.name) for each in (extractor, rules)
        )
        try:
            stored = await extract_batch(caller, extractor, by_model, policy=policy, and_then=then)
        except SpendCapError:
            raise
        except LanguageModelError as error:
            logger.warning("%s failed, rules read the turns instead: %s", extractor.name, error)
            stored = await extract_batch(caller, rules, by_rules, policy=policy, and_then=then)
        total = _sum(total, stored)
    return total


def _sum(first: StoredStatements, second: StoredStatements) -> StoredStatements:
    return StoredStatements(
        first.stored_count + second.stored_count,
        first.repeated_count + second.repeated_count,
        first.rejected_count + second.rejected_count,
        first.superseded_count + second.superseded_count,
        first.already_read or second.already_read,
    )
