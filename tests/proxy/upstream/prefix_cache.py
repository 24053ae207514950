"""The prompt caches of the providers, simulated.

A prompt is a list of units in the order in which the cache sees them: tools, instructions, messages.
Anthropic writes entries at breakpoints, and reads the longest entry that ends at a breakpoint or up to 20
units before it. OpenAI caches every prefix by itself.
"""

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.proxy.upstream.canonical import tokens

LOOK_BACK_UNITS = 20
VALID_S = 300.0
MIN_TOKENS_OPENAI = 1_024


@dataclass(frozen=True, slots=True)
class Unit:
    """A piece of a prompt that the cache does not divide."""

    text: str
    is_breakpoint: bool = False


@dataclass(frozen=True, slots=True)
class CacheUse:
    """Tokens of one prompt."""

    fresh: int
    written: int
    read: int

    @property
    def total(self) -> int:
        return self.fresh + self.written + self.read


class PrefixCache:
    """Entries of all prompts, by a hash of the model and the prefix."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._valid_until: dict[str, float] = {}

    def use_breakpoints(self, model: str, units: Sequence[Unit]) -> CacheUse:
        """Read and write as Anthropic does."""
        hashes, sums = _prefixes(model, units)
        points = [index for index, unit in enumerate(units) if unit.is_breakpoint]
        found = [self._longest(hashes, point) for point in points]
        read_to = max(found, default=-1)
        self._keep([hashes[index] for index in [*points, *([read_to] if read_to >= 0 else [])]])
        read = sums[read_to] if read_to >= 0 else 0
        marked = sums[points[-1]] if points else 0
        return CacheUse(_total(sums) - max(marked, read), max(0, marked - read), read)

    def use_automatically(self, model: str, units: Sequence[Unit]) -> CacheUse:
        """Read and write as OpenAI does."""
        hashes, sums = _prefixes(model, units)
        read_to = next((index for index in reversed(range(len(units))) if self._is_valid(hashes[index])), -1)
        self._keep(hashes)
        read = sums[read_to] if read_to >= 0 and sums[read_to] >= MIN_TOKENS_OPENAI else 0
        return CacheUse(_total(sums) - read, 0, read)

    def _longest(self, hashes: Sequence[str], point: int) -> int:
        nearest = range(point, max(-1, point - LOOK_BACK_UNITS), -1)
        return next((index for index in nearest if self._is_valid(hashes[index])), -1)

    def _is_valid(self, prefix: str) -> bool:
        return self._valid_until.get(prefix, 0.0) > self._clock()

    def _keep(self, prefixes: Sequence[str]) -> None:
        until = self._clock() + VALID_S
        self._valid_until.update(dict.fromkeys(prefixes, until))


def _prefixes(model: str, units: Sequence[Unit]) -> tuple[list[str], list[int]]:
    running = hashlib.sha256(model.encode())
    hashes, sums, total = [], [], 0
    for unit in units:
        running.update(hashlib.sha256(unit.text.encode(errors="surrogatepass")).digest())
        total += tokens(unit.text)
        hashes.append(running.hexdigest())
        sums.append(total)
    return hashes, sums


def _total(sums: Sequence[int]) -> int:
    return sums[-1] if sums else 0
