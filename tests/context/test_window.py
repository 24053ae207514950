"""A window decides levels: append-only within an epoch, protected objects stay, restarts change nothing."""

from datetime import UTC, datetime, timedelta

import pytest

from mnemic.context.entry import Entry
from mnemic.context.piece import free_handle, handle_of
from mnemic.context.policy.settings import PagingSettings
from mnemic.context.policy.zones import pressure_of
from mnemic.context.step import Step
from mnemic.context.window import Window
from mnemic.errors import InvalidInputError, NotFoundError

START = datetime(2026, 1, 1, tzinfo=UTC)


def call_and_result(
    number: int, *, tool: str = "Bash", text: str = "", is_error: bool = False
) -> list[Entry]:
    arguments = {"command": f"run {number}"} if tool == "Bash" else {"file_path": f"/src/file_{number}.py"}
    full = text or f"output_line_{number} of a command\n" * 60
    return [
        Entry(f"c{number}", "call", str(arguments), tool, arguments),
        Entry(f"r{number}", "result", full, tool, arguments, is_error=is_error, is_pageable=True),
    ]


def observed(window: Window, entries: list[Entry], seconds: float, *, at_user_turn: bool = False) -> Step:
    now = START + timedelta(seconds=seconds)
    return window.observe(entries, fixed_tokens=30_000, now=now, at_user_turn=at_user_turn)


def session(calls: int) -> list[Entry]:
    return [entry for number in range(calls) for entry in call_and_result(number)]


def replayed(window: Window, calls: int) -> list[Step]:
    return [observed(window, session(number + 1), number * 10) for number in range(calls)]


def test_a_cold_cache_begins_an_epoch_and_the_newest_calls_stay() -> None:
    window = Window()
    replayed(window, 20)
    step = observed(window, session(21), 2_000)
    assert step.epoch is not None
    assert step.epoch.reason == "cold cache"
    assert step.epoch.tokens_after < step.epoch.tokens_before
    assert all(each.reason for each in step.transitions)
    newest = {f"r{number}" for number in range(21 - PagingSettings().protected_calls, 21)}
    assert not newest & set(step.replaced)
    assert "r0" in step.replaced


def test_what_was_sent_stays_the_same_until_the_next_epoch() -> None:
    window = Window()
    before: dict[str, str] = {}
    for number in range(80):
        gap = 1_000 if number % 30 == 29 else 0
        step = observed(window, session(number + 1), number * 10 + gap, at_user_turn=number % 7 == 0)
        if step.epoch is None:
            assert {key: step.replaced.get(key) for key in before} == before
            assert set(step.replaced) - set(before) <= {each.key for each in step.admissions}
        before = dict(step.replaced)


def test_pinned_objects_and_errors_are_protected() -> None:
    window = Window()
    entries = [*call_and_result(100, is_error=True), *session(20)]
    observed(window, entries[:4], 0)
    window.pin("r0")
    for number in range(1, 20):
        observed(window, entries[: 2 * number + 4], number * 10)
    step = observed(window, entries, 3_000)
    assert step.epoch is not None
    assert "r0" not in step.replaced
    assert {each.to_level for each in step.transitions if each.key == "r100"} <= {1}


def test_a_restored_window_decides_the_same() -> None:
    window = Window()
    replayed(window, 30)
    restored = Window(saved=window.saved())
    for calls, seconds in ((31, 310), (32, 2_000), (33, 2_010)):
        assert observed(window, session(calls), seconds) == observed(restored, session(calls), seconds)


def test_a_small_prompt_is_not_rewritten_unless_its_window_is_full() -> None:
    least = PagingSettings().epoch_min_tokens
    entries = session(20)
    for budget_tokens, fixed_tokens, begins in ((10 * least, 0, False), (least // 2, least // 2, True)):
        window = Window(PagingSettings(budget_tokens=budget_tokens))
        steps = [
            window.observe(
                entries[: 2 * number + 2],
                fixed_tokens=fixed_tokens,
                now=START + timedelta(seconds=number * 400),
                at_user_turn=True,
            )
            for number in range(20)
        ]
        assert window.tokens < least
        assert any(step.epoch for step in steps) == begins


def test_two_objects_never_share_a_handle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mnemic.context.piece.HANDLE_HEX", 1)
    window = Window()
    observed(window, session(40), 0)
    handles = [handle_of(f"r{number}", digits) for number in range(40) for digits in range(1, 5)]
    taken: dict[str, str] = {}
    for number in range(40):
        taken[free_handle(f"r{number}", taken)] = f"r{number}"
    assert len(taken) == 40
    assert set(taken) <= set(handles)
    assert all(window.text_of(handle) == window.text_of(key) for handle, key in taken.items())


def test_a_file_read_again_is_sent_as_one_line_or_supersedes_its_copy() -> None:
    window = Window(PagingSettings(epoch_min_tokens=0, faults_margin=0))
    text = "".join(f"{n}\tvalue_of_line_{n} = {n}\n" for n in range(100))
    first = call_and_result(1, tool="Read", text=text)
    observed(window, first, 0)
    again = [
        Entry(
            f"{each.key}.again", each.role, each.text, each.tool, each.arguments, is_pageable=each.is_pageable
        )
        for each in first
    ]
    step = observed(window, first + again, 10)
    assert [each.level for each in step.admissions] == [3]
    changed = Entry(
        "r1.changed",
        "result",
        text + "100\tnew_line_here = 1\n",
        "Read",
        first[1].arguments,
        is_pageable=True,
    )
    step = observed(window, [*first, *again, changed], 2_000)
    assert "r1.changed" not in step.replaced
    assert "superseded" in next(each.reason for each in step.transitions if each.key == "r1")


def test_a_restore_brings_dependencies_within_two_hops_and_repeats_pin() -> None:
    window = Window()
    replayed(window, 20)
    observed(window, session(21), 2_000)
    for one, other in (("r0", "r1"), ("r1", "r2"), ("r2", "r3")):
        window.relate(one, other, "depends_on")
    assert window.fault("r0", "restore").restored == ("r0", "r1", "r2")
    window.fault("r0", "micro", "output_line_0")
    assert next(each for each in window.saved().objects if each.key == "r0").is_pinned
    assert "r0" not in observed(window, session(22), 4_000).replaced


def test_frequent_faults_hold_back_epochs_with_a_warm_cache() -> None:
    busy, calm = Window(PagingSettings(pin_faults=100)), Window()
    for window in (busy, calm):
        replayed(window, 20)
    for _ in range(PagingSettings().thrashing_faults):
        busy.fault("r19", "micro")
    assert observed(busy, session(21), 200, at_user_turn=True).epoch is None
    assert observed(calm, session(21), 200, at_user_turn=True).epoch is not None


def test_zones_follow_the_budget() -> None:
    shares = (0.1, 0.2, 0.3, 0.8, 0.95)
    zones = [pressure_of(round(share * 1000), 1000).zone for share in shares]
    assert zones == ["normal", "caution", "warning", "critical", "emergency"]


def test_bad_input_has_a_clear_error() -> None:
    with pytest.raises(NotFoundError, match="No object"):
        Window().fault("missing", "micro")
    with pytest.raises(InvalidInputError, match="protected_calls"):
        PagingSettings(protected_calls=0)
