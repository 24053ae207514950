"""What a prompt costs with the provider's cache, and what an epoch would save."""

from collections.abc import Sequence
from dataclasses import dataclass

from mnemic.context.policy.settings import PagingSettings


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices of input in dollars per token."""

    read: float
    """A token that the provider has cached."""
    write: float
    """A token that it has not, and caches now."""


def prices_of(settings: PagingSettings) -> Prices:
    """Prices per token from the settings."""
    base = settings.input_usd_per_million / 1e6
    return Prices(read=base * settings.cache_read_ratio, write=base * settings.cache_write_ratio)


@dataclass(frozen=True, slots=True)
class Change:
    """What lowering one object would do to the tokens of the prompt."""

    position: int
    freed_tokens: float


@dataclass(frozen=True, slots=True)
class Start:
    """Where the rewriting of a prompt best begins."""

    position: int
    """Objects before this position stay as they are."""
    freed_tokens: float
    saving_usd: float
    horizon_calls: int = 0
    """For how many calls the saving is counted."""


def best_start(
    tokens: Sequence[float], changes: Sequence[Change], *, cached: int, prices: Prices, horizon_calls: int
) -> Start:
    """Where to begin, so that an epoch saves most.

    An object that falls saves the price of reading its tokens in each of the next calls. But everything
    after the first object that falls has to be written to the cache again, as far as it was cached:
    `cached` is the number of pieces that the provider still holds. So objects deep in the prompt are only
    worth lowering together with much that stands after them.
    """
    best = Start(len(tokens), 0.0, 0.0, horizon_calls)
    kept = freed = uncached_freed = 0.0
    end = len(tokens)
    for change in sorted(changes, key=lambda each: -each.position):
        kept += sum(tokens[change.position : min(end, cached)]) if change.position < cached else 0.0
        end = change.position
        freed += change.freed_tokens
        if change.position >= cached:
            uncached_freed += change.freed_tokens
        rewritten = max(0.0, kept - (freed - uncached_freed))
        saving = freed * prices.read * horizon_calls + uncached_freed * prices.write
        saving -= rewritten * (prices.write - prices.read)
        if saving > best.saving_usd:
            best = Start(change.position, freed, saving, horizon_calls)
    return best
