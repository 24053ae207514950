"""Which candidates of a pool are neighbouring turns."""

import numpy as np

from mnemic.recall.candidates.neighbours import NEIGHBOUR_REACH, ConversationTurns

OFFSETS = [offset for offset in range(-NEIGHBOUR_REACH, NEIGHBOUR_REACH + 1) if offset]


def _neighbour(turns: list[tuple[str | None, int | None]], place: int, offset: int) -> int | None:
    """The expected neighbour, by linear search."""
    conversation, position = turns[place]
    if position is None:
        return None
    wanted = (conversation, position + offset)
    return turns.index(wanted) if wanted in turns else None


def test_neighbours_are_those_of_the_same_conversation() -> None:
    for seed in range(20):
        check_conversations(seed)


def check_conversations(seed: int) -> None:
    """Compare with a linear search, in conversations that were made up."""
    random = np.random.default_rng(seed)
    turns: list[tuple[str | None, int | None]] = [
        (None, None) if random.random() < 0.1 else (f"talk {random.integers(4)}", int(random.integers(15)))
        for _ in range(int(random.integers(60)))
    ]
    found = ConversationTurns([talk for talk, _ in turns], [position for _, position in turns])
    values = random.random(len(turns))
    for offset in OFFSETS:
        wanted = [_neighbour(turns, place, offset) for place in range(len(turns))]
        assert [found.neighbour(place, offset) for place in range(len(turns))] == wanted, (seed, offset)
        expected = [0.0 if place is None else values[place] for place in wanted]
        assert found.shifted(values, offset).tolist() == expected, (seed, offset)


def test_the_last_turn_of_a_conversation_and_the_first_of_the_next_are_no_neighbours() -> None:
    found = ConversationTurns(["a", "a", "b", "b"], [2**31 - 2, 2**31 - 1, 0, 1])
    assert [found.neighbour(place, 1) for place in range(4)] == [1, None, 3, None]
    assert [found.neighbour(place, -2) for place in range(4)] == [None] * 4
