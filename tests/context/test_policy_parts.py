"""The parts of the policy alone: where an epoch starts, whether it pays, and what supersedes what."""

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.context.entry import Entry
from mnemic.context.levels.kinds import source_key
from mnemic.context.piece import Piece
from mnemic.context.policy.costs import Change, Prices, Start, best_start
from mnemic.context.policy.epochs import Moment, horizon_calls, pays
from mnemic.context.policy.settings import PagingSettings
from mnemic.context.policy.supersession import file_path, is_editing, shows_all, supersedes

PRICES = Prices(read=0.1, write=1.25)
PROMPTS = st.lists(
    st.tuples(st.integers(0, 5_000), st.booleans(), st.floats(0, 1)), min_size=1, max_size=12
).map(lambda rows: [(float(tokens), is_changed, share) for tokens, is_changed, share in rows])


def saving_from(
    first: int, tokens: list[float], changes: list[Change], cached: int, horizon: int
) -> tuple[float, float]:
    """What is freed and saved, when all changes from a position on are made: by plain counting."""
    chosen = {each.position: each.freed_tokens for each in changes if each.position >= first}
    after = [size - chosen.get(position, 0.0) for position, size in enumerate(tokens)]
    start = min(chosen, default=len(tokens))
    rewritten = sum(after[start:cached])
    uncached = sum(freed for position, freed in chosen.items() if position >= cached)
    freed = sum(chosen.values())
    saved = freed * PRICES.read * horizon + uncached * PRICES.write
    return freed, saved - rewritten * (PRICES.write - PRICES.read)


@given(prompt=PROMPTS, cached_share=st.floats(0, 1), horizon=st.integers(1, 60))
def test_best_start_saves_most(
    prompt: list[tuple[float, bool, float]], cached_share: float, horizon: int
) -> None:
    tokens = [size for size, _, _ in prompt]
    changes = [Change(n, size * share) for n, (size, is_changed, share) in enumerate(prompt) if is_changed]
    cached = round(cached_share * len(tokens))
    start = best_start(tokens, changes, cached=cached, prices=PRICES, horizon_calls=horizon)
    savings = [saving_from(each.position, tokens, changes, cached, horizon)[1] for each in changes]
    assert start.saving_usd == pytest.approx(max([0.0, *savings]), abs=1e-6)
    if start.saving_usd > 0:
        freed, saved = saving_from(start.position, tokens, changes, cached, horizon)
        assert (start.freed_tokens, start.saving_usd) == pytest.approx((freed, saved), abs=1e-6)


def test_best_start_leaves_what_stands_before_much_text() -> None:
    tokens = [100.0, 50_000.0, 5_000.0, 10.0]
    changes = [Change(0, 90.0), Change(2, 4_900.0)]
    start = best_start(tokens, changes, cached=4, prices=PRICES, horizon_calls=10)
    assert (start.position, start.freed_tokens) == (2, 4_900.0)
    cold = best_start(tokens, changes, cached=0, prices=PRICES, horizon_calls=10)
    assert (cold.position, cold.freed_tokens) == (0, 4_990.0)
    assert best_start(tokens, [], cached=4, prices=PRICES, horizon_calls=10).saving_usd == 0


def moment(**changed: Any) -> Moment:
    values: dict[str, Any] = {
        **{"call": 100, "zone": "caution", "is_cold": False, "at_user_turn": True, "is_thrashing": False},
        **{"protected_calls": 4, "tokens_per_char": 0.35, "edited": {}},
    }
    return Moment(**(values | changed))


def test_an_epoch_pays_only_above_the_price_of_faults_and_in_large_prompts() -> None:
    settings = PagingSettings(epoch_min_tokens=40_000, epoch_min_share=0.1, faults_margin=1.0)
    tokens, fault_usd = 100_000, 100_000 * PRICES.read + 400 * PRICES.write
    rich, poor = Start(0, 20_000.0, fault_usd * 1.1), Start(0, 20_000.0, fault_usd * 0.9)
    cases: tuple[tuple[Start, int, dict[str, Any], bool], ...] = (
        (rich, tokens, {}, True),
        (poor, tokens, {}, False),
        (rich, 39_000, {}, False),
        (rich, 39_000, {"is_cold": True}, False),
        (rich, 39_000, {"zone": "critical"}, True),
        (poor, 39_000, {"zone": "emergency"}, True),
        (Start(0, 0.0, 0.0), tokens, {"zone": "emergency"}, False),
        (Start(0, 5_000.0, fault_usd * 2), tokens, {}, False),
        (Start(0, 5_000.0, fault_usd * 2), tokens, {"is_cold": True}, True),
    )
    for start, size, changed, expected in cases:
        assert pays(start, moment(**changed), size, PRICES, settings) == expected, (start, size, changed)


def test_a_young_session_has_a_short_horizon() -> None:
    settings = PagingSettings(horizon_calls=30, horizon_growth=1.0)
    assert [horizon_calls(moment(call=call), settings) for call in (0, 10, 29, 300)] == [0, 10, 29, 30]


def piece(tool: str, text: str = "text", *, is_error: bool = False, **arguments: Any) -> Piece:
    entry = Entry("key", "result", text, tool, arguments, is_error=is_error, is_pageable=True)
    found = Piece(entry=entry, is_object=True, first_call=0, last_use=0)
    found.source_key, found.path = source_key(tool, arguments), file_path(tool, arguments)
    return found


def test_a_read_supersedes_reads_of_the_same_lines() -> None:
    whole = piece("Read", file_path="/a.py")
    part = piece("Read", file_path="/a.py", offset=10, limit=20)
    inner = piece("Read", file_path="/a.py", offset=12, limit=5)
    other = piece("Read", file_path="/b.py")
    failed = piece("Read", file_path="/a.py", is_error=True)
    edit = piece("Edit", file_path="/a.py")
    covered = ((whole, whole), (whole, part), (whole, inner), (part, part), (part, inner), (inner, inner))
    expected = {(id(newer), id(older)) for newer, older in (*covered, (other, other))}
    for newer, older in itertools.product((whole, part, inner, other, edit), repeat=2):
        is_expected = (id(newer), id(older)) in expected
        assert supersedes(newer, older) == is_expected, (newer.source_key, older.source_key)
    assert not supersedes(failed, whole)


def test_a_command_supersedes_only_the_same_command() -> None:
    build, test = piece("Bash", command="make build"), piece("Bash", command="make test")
    assert supersedes(build, piece("Bash", command="make build"))
    assert not supersedes(build, test)


def test_copies_show_all_lines_whatever_their_numbers() -> None:
    copy = piece("Read", "1\tone\n2\ttwo\n3\tthree", file_path="/a.py")
    assert shows_all([copy], piece("Read", "7\ttwo\n8\tthree", file_path="/a.py", offset=7))
    assert not shows_all([copy], piece("Read", "1\tone\n2\tfour", file_path="/a.py"))


def test_editing_tools_are_known_by_any_spelling() -> None:
    assert all(map(is_editing, ("Edit", "MultiEdit", "apply_patch", "mcp__files__write_file")))
    assert not any(map(is_editing, ("Read", "Bash", "Grep")))
