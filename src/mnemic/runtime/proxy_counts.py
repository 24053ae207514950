"""What the proxy did in this process, for the metrics."""

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class ProxyCounts:
    """Counts since the process started. Labels are fixed words, never names of callers."""

    acted: Counter[str] = field(default_factory=Counter)
    """Requests that were changed, by API."""
    passed: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Requests that passed unchanged, by API and reason."""
    refused: Counter[str] = field(default_factory=Counter)
    """Changed requests that the provider refused, by API; the original was sent then."""
    hidden_calls: Counter[str] = field(default_factory=Counter)
    """Calls of hidden tools, by tool."""
    failed: Counter[str] = field(default_factory=Counter)
    """Turns that could not be recorded or stored, by reason."""
    prompt_tokens: int = 0
    """Tokens of prompts, as providers reported them."""
    cached_tokens: int = 0
    turns: int = 0
    """Turns that were recorded."""
