"""What the proxy did in this process, for the metrics."""

from collections import Counter
from dataclasses import dataclass, field

REASONS_MAX = 50
"""Reasons that are counted by themselves; a reason may name something that a client sent."""
REASON_MAX_CHARACTERS = 60
OTHER_REASON = "other"


@dataclass
class ProxyCounts:
    """Counts since the process started. Labels never name callers or sessions."""

    changed: Counter[str] = field(default_factory=Counter)
    """Requests that were changed, by API."""
    passed: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Requests that passed unchanged, by API and reason."""
    refused: Counter[str] = field(default_factory=Counter)
    """Changed requests that the provider refused, by API; the original was sent then."""
    hidden_calls: Counter[str] = field(default_factory=Counter)
    """Calls of hidden tools, by tool."""
    failed: Counter[str] = field(default_factory=Counter)
    """What could not be stored or answered, by kind."""
    prompt_tokens: int = 0
    """Tokens of prompts, as providers reported them."""
    cached_tokens: int = 0
    turn_count: int = 0
    """Turns that were recorded."""

    def count_passed(self, api: str, reason: str) -> None:
        """Count a request that passed unchanged; what follows a colon in the reason is a detail."""
        label = (api, reason.partition(":")[0][:REASON_MAX_CHARACTERS])
        is_known = label in self.passed or len(self.passed) < REASONS_MAX
        self.passed[label if is_known else (api, OTHER_REASON)] += 1
