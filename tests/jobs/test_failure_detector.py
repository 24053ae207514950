"""Who is taken for dead, by which clock."""

from mnemic.jobs.failure_detector import Sign, Witness


def dead(witness: Witness, now_s: float, *signs: Sign) -> list[str]:
    return [sign.worker for sign in witness.dead_among(signs, now_s=now_s)]


def test_a_worker_that_beats_is_alive_whatever_the_server_says_about_the_time() -> None:
    witness = Witness()
    for beats in range(20):
        assert dead(witness, 3.0 * beats, Sign("a", beats, silent_s=3600)) == []


def test_a_worker_that_was_silent_before_we_came_is_dead_after_a_short_look() -> None:
    witness = Witness()
    assert dead(witness, 100, Sign("a", 7, silent_s=60)) == []
    assert dead(witness, 104.9, Sign("a", 7, silent_s=64.9)) == []
    assert dead(witness, 105, Sign("a", 7, silent_s=65)) == ["a"]


def test_a_worker_that_falls_silent_is_dead_after_fifteen_seconds() -> None:
    witness = Witness()
    for now_s in range(0, 15, 2):
        assert dead(witness, now_s, Sign("a", 7, silent_s=now_s)) == []
    assert dead(witness, 15, Sign("a", 7, silent_s=15)) == ["a"]


def test_a_clock_that_was_set_back_does_not_keep_the_dead_alive() -> None:
    witness = Witness()
    assert dead(witness, 0, Sign("a", 7, silent_s=0)) == []
    assert dead(witness, 15, Sign("a", 7, silent_s=-3600)) == ["a"]


def test_after_the_database_was_away_the_living_have_time_to_say_so() -> None:
    witness = Witness()
    assert dead(witness, 0, Sign("a", 7, silent_s=1)) == []
    # For 14 s nobody could ask, nor beat. The server's clock went on.
    assert dead(witness, 14, Sign("a", 8, silent_s=0.1), Sign("b", 1, silent_s=20)) == []
    assert dead(witness, 17, Sign("a", 9, silent_s=0.1), Sign("b", 2, silent_s=0.1)) == []


def test_each_worker_is_judged_by_itself() -> None:
    witness = Witness()
    assert dead(witness, 0, Sign("a", 1, silent_s=20), Sign("b", 1, silent_s=0)) == []
    assert dead(witness, 6, Sign("a", 1, silent_s=26), Sign("b", 3, silent_s=0)) == ["a"]
