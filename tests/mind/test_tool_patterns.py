"""Sequences of tools that conversations have in common: what ended well, which runs count, their words."""

from collections.abc import Sequence

from mnemic.mind import tool_patterns
from mnemic.mind.tool_patterns import EndedConversation, ended, find_patterns, task_words


def conversation(
    name: str,
    tools: str,
    *,
    failing: Sequence[int] = (),
    outcome: str | None = None,
    request: str | None = None,
    channel: str = "_global",
) -> EndedConversation:
    called = tools.split()
    return ended(
        name, channel, called, [place not in failing for place in range(len(called))], outcome, request
    )


def test_the_last_call_decides_unless_the_outcome_was_stated() -> None:
    assert conversation("a", "search read").succeeded
    assert not conversation("a", "search read", failing=[1]).succeeded
    assert conversation("a", "search read", failing=[0]).succeeded
    assert conversation("a", "search read", failing=[1], outcome="success").succeeded
    assert not conversation("a", "search read", outcome="failure").succeeded
    assert conversation("a", "search read", outcome="who knows").succeeded


def test_steps_are_without_repetitions_and_failed_calls() -> None:
    assert conversation("a", "search search read search", failing=[0]).steps == ("search", "read", "search")
    assert conversation("a", "search guess read", failing=[1]).steps == ("search", "read")
    # What failed is a part of how a conversation failed.
    assert conversation("a", "search guess", failing=[1]).steps == ("search", "guess")


def test_a_pattern_needs_two_conversations_and_is_as_long_as_possible() -> None:
    patterns = find_patterns(
        [
            conversation("one", "search read write send"),
            conversation("two", "open search read write"),
            conversation("three", "search read"),
            conversation("four", "send search"),
        ]
    )
    found = {pattern.tools: pattern.successes for pattern in patterns}
    assert found == {
        ("search", "read", "write"): ("one", "two"),
        ("search", "read"): ("one", "two", "three"),
    }
    assert patterns[0].tools == ("search", "read")
    assert find_patterns([conversation("one", "a b a b a b")]) == []


def test_patterns_are_ranked_by_the_lower_bound_and_failing_ones_are_warnings() -> None:
    good = [conversation(f"good {number}", "search read") for number in range(5)]
    mixed = [
        conversation(f"mixed {number}", "ask guess", failing=[1] if number else []) for number in (0, 1, 2)
    ]
    few = [conversation(f"few {number}", "open close") for number in range(2)]
    patterns = find_patterns([*few, *mixed, *good])
    assert [(each.tools, each.is_warning) for each in patterns] == [
        (("search", "read"), False),
        (("open", "close"), False),
        (("ask", "guess"), True),
    ]
    assert (patterns[2].successes, len(patterns[2].failures)) == (("mixed 0",), 2)


def test_their_number_is_bounded() -> None:
    many = [
        conversation(f"{pair} {twice}", f"tool{pair} other{pair}", failing=[1] if pair % 2 else [])
        for pair in range(100)
        for twice in range(2)
    ]
    patterns = find_patterns(many)
    assert sum(not each.is_warning for each in patterns) == tool_patterns.PATTERNS_MAX
    assert sum(each.is_warning for each in patterns) == tool_patterns.WARNINGS_MAX


def test_the_task_has_words_that_the_requests_share_and_no_literals() -> None:
    requests = [
        'Please book a flight to Berlin for Alice, order 4711, seat "aisle row", pay with card abc123.',
        'Can you book a flight to Paris for Bob, order 4712, seat "aisle row", pay with card?',
        "book me a flight from Rome, and pay",
    ]
    assert task_words(requests) == ["book", "flight", "order", "seat", "pay", "card"]
    assert task_words(requests[:1]) == []
    (pattern,) = find_patterns(
        [
            conversation(str(place), "find_flights bookFlight", request=each)
            for place, each in enumerate(requests)
        ]
    )
    assert pattern.task == "book flight order seat pay card"
    assert pattern.text == "Call find_flights, then bookFlight."


def test_without_common_words_the_task_is_made_of_the_names_of_the_tools() -> None:
    (pattern,) = find_patterns([conversation(name, "find_flights bookFlight") for name in "ab"])
    assert pattern.task == "find flights book flight"
    (odd,) = find_patterns([conversation(name, "1 2") for name in "ab"])
    assert odd.task == "1 2"
