"""Settings of paging, with their limits. Every number that a decision compares with is named here."""

from dataclasses import dataclass

from mnemic.errors import InvalidInputError


@dataclass(frozen=True, slots=True)
class PagingSettings:
    """When a window pages, and what it protects. The defaults were chosen by replaying recorded sessions."""

    budget_tokens: int = 200_000
    """Tokens that the model's window holds; zones are shares of it."""
    protected_calls: int = 3
    """Objects first sent or used within so many calls never fall."""
    file_calls: int = 8
    """A file keeps its full text for so many calls after it was read."""
    used_calls: int = 14
    """A file keeps its full text for so many calls after the assistant last wrote its name."""
    edited_calls: int = 20
    """A file keeps its full text for so many calls after it was last edited."""
    turn_kept_share: float = 0.5
    """At the user's turns, files that were read or named are kept for this share of those calls: another
    task may begin."""
    turn_edited_share: float = 0.7
    """At the user's turns, edited files are kept for this share of `edited_calls`."""
    file_min_chars: int = 1_000
    """Shorter texts of files are never replaced: they are cheap, and needed most for their size."""
    file_max_tokens: int = 6_000
    """A larger file that was not edited falls as output of commands does: it was read for orientation."""
    page_min_chars: int = 400
    """Shorter results are never replaced: a stub would hardly be shorter."""
    admit_max_tokens: int = 600
    """Larger output of commands and searches is first sent at level 1."""
    names_share: float = 0.2
    """Share of an object's full text that the list of its names may take."""
    horizon_calls: int = 38
    """For how many calls the saving of an epoch is counted, against the price of writing the cache again."""
    epoch_min_share: float = 0.08
    """An epoch with a warm cache frees at least this share of the prompt."""
    horizon_growth: float = 1.0
    """A session is expected to go on for this multiple of its calls so far, up to `horizon_calls`."""
    epoch_min_tokens: int = 40_000
    """A smaller prompt is not rewritten, even when the provider's cache is cold: only in the zones of
    critical and emergency."""
    faults_margin: float = 1.0
    """An epoch saves at least the price of so many faults."""
    cache_s: float = 300.0
    """After so many seconds without a request the provider has dropped its cache."""
    input_usd_per_million: float = 5.0
    cache_read_ratio: float = 0.1
    """Price of a cached token, as a share of the price of an input token."""
    cache_write_ratio: float = 1.25
    pin_faults: int = 2
    """An object that faulted so often is pinned."""
    thrashing_faults: int = 6
    """So many faults within `thrashing_calls` mean that too much was paged out."""
    thrashing_calls: int = 40

    def __post_init__(self) -> None:
        for name, (low, high) in _LIMITS.items():
            value = getattr(self, name)
            if not low <= value <= high:
                raise InvalidInputError(f"{name} is {value}, and must be between {low} and {high}.")


_LIMITS: dict[str, tuple[float, float]] = {
    "budget_tokens": (1_000, 10_000_000),
    "protected_calls": (1, 1_000),
    "file_calls": (1, 10_000),
    "used_calls": (1, 10_000),
    "turn_kept_share": (0.0, 1.0),
    "turn_edited_share": (0.0, 1.0),
    "file_min_chars": (200, 1_000_000),
    "file_max_tokens": (0, 10_000_000),
    "edited_calls": (1, 10_000),
    "page_min_chars": (200, 1_000_000),
    "admit_max_tokens": (200, 1_000_000),
    "names_share": (0.0, 0.5),
    "horizon_calls": (1, 10_000),
    "epoch_min_share": (0.0, 1.0),
    "horizon_growth": (0.0, 1_000.0),
    "epoch_min_tokens": (0, 10_000_000),
    "faults_margin": (0.0, 1_000.0),
    "cache_s": (0.0, 86_400.0),
    "input_usd_per_million": (0.0, 10_000.0),
    "cache_read_ratio": (0.0, 1.0),
    "cache_write_ratio": (0.0, 10.0),
    "pin_faults": (1, 100),
    "thrashing_faults": (1, 1_000),
    "thrashing_calls": (1, 10_000),
}
