"""`mnemic spend`."""

import pytest

from tests.cli.conftest import Run


def test_nothing_was_spent_and_there_are_no_caps(mnemic: Run) -> None:
    shown = mnemic("spend")
    assert shown.code == 0
    assert "No language model was called." in shown.out
    assert "Spent today: $0.00 without a cap." in shown.out
    document = mnemic("spend", "--json", "--since", "2026-01-01").json
    assert document["lines"] == []
    assert document["caps"]["month"] == {"period": "month", "cap_usd": None, "spent_usd": "0"}


def test_caps_are_set_and_removed(mnemic: Run) -> None:
    shown = mnemic("spend", "cap", "--day", "5.00", "--total", "100")
    assert shown.code == 0
    assert "Spent today: $0.00 of at most $5.00." in shown.out
    assert "Spent in total: $0.00 of at most $100.00." in shown.out
    assert mnemic("spend", "cap", "--day", "none", "--json").json["day"]["cap_usd"] is None
    assert mnemic("spend", "cap", "--json").json["total"]["cap_usd"] == "100"
    mnemic("spend", "cap", "--total", "none")


def test_prices_are_set_and_removed(mnemic: Run) -> None:
    made = mnemic("spend", "price", "ollama:llama3", "--input", "0.1", "--output", "0.2")
    assert "ollama:llama3: $0.100000 in, $0.200000 out per million tokens." in made.out
    assert mnemic("spend", "price", "ollama:llama3", "--remove").out.startswith("Removed the price of ollama")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("cap", "--day", "-5"), "usd must be a number such as 5.00"),
        (("cap", "--month", "lots"), "usd must be a number such as 5.00"),
        (("price", "m", "--input", "1"), "Give both --input and --output"),
        (("price", "m"), "Give both --input and --output"),
        (("price", "m", "--input", "1", "--output", "1", "--remove"), "Give both --input and --output"),
        (("price", "m", "--remove"), "No price was set by hand"),
    ],
)
def test_mistakes_are_explained(mnemic: Run, arguments: tuple[str, ...], message: str) -> None:
    failed = mnemic("spend", *arguments)
    assert failed.code != 0
    assert message in failed.said
