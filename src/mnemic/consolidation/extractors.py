"""The extractors that consolidation uses."""

from collections.abc import Sequence

from mnemic.extraction.protocol import Extractor
from mnemic.extraction.rules import RulesExtractor
from mnemic.runtime.core import Core


def extractors_of(core: Core) -> Sequence[Extractor]:
    """The extractors of a tenant: the rules first, because they need no model."""
    return [RulesExtractor()]
