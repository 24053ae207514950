"""The calibration error, worked out by hand."""

import pytest

from bench.calibration import CalibrationErrors, Forecast, calibration_error


def forecasts(confidence: float, *, answered: int, of: int) -> list[Forecast]:
    return [Forecast(confidence, place < answered) for place in range(of)]


def test_a_confidence_that_is_right_as_often_as_it_says_has_no_error() -> None:
    assert calibration_error(forecasts(0.75, answered=3, of=4)) == pytest.approx(0)
    assert calibration_error(forecasts(1.0, answered=5, of=5) + forecasts(0.0, answered=0, of=5)) == 0


def test_each_bin_counts_by_its_number_of_questions() -> None:
    surely_wrong = forecasts(1.0, answered=0, of=1)
    rather_right = forecasts(0.55, answered=3, of=3)
    assert calibration_error(surely_wrong + rather_right) == pytest.approx((1.0 + 3 * 0.45) / 4)


def test_too_much_and_too_little_cancel_out_within_a_bin_only() -> None:
    same_bin = [Forecast(0.51, False), Forecast(0.51, True)]
    assert calibration_error(same_bin) == pytest.approx(0.01)
    two_bins = [Forecast(0.49, False), Forecast(0.51, True)]
    assert calibration_error(two_bins) == pytest.approx(0.49)


def test_without_questions_there_is_no_error() -> None:
    assert calibration_error([]) == 0


def test_balanced_many_foreign_questions_weigh_as_much_as_the_answerable_ones() -> None:
    own = forecasts(0.95, answered=2, of=2)
    foreign = [Forecast(0.55, False, is_foreign=True) for _ in range(8)]
    errors = CalibrationErrors.of(own + foreign)
    assert errors.balanced == pytest.approx((0.05 + 0.55) / 2)
    assert errors.as_asked == pytest.approx((2 * 0.05 + 8 * 0.55) / 10)


def test_with_one_kind_of_question_both_errors_are_the_same() -> None:
    errors = CalibrationErrors.of(forecasts(0.9, answered=1, of=2))
    assert errors.balanced == errors.as_asked == pytest.approx(0.4)
