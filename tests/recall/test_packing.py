"""The text of a result is packed when it is first read; readers cannot notice the difference."""

import copy
import pickle
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace

import pytest
from pydantic import TypeAdapter

from mnemic.types.recalled import Hit, Recalled, packed_on_first_read

WHOLE = Recalled("q", confidence=0.5, text="two words", token_count=2, notes=("n",))
LATER = Recalled("q", confidence=0.5, notes=("n",))
_WIRE = TypeAdapter(Recalled)


class Packer:
    """Always returns the same text, and counts its calls."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, hits: Sequence[Hit]) -> tuple[str, int]:
        self.calls += 1
        return "two words", 2


def test_nothing_is_packed_until_the_text_or_its_tokens_are_read_and_then_once() -> None:
    packer = Packer()
    found = packed_on_first_read(LATER, packer)
    assert (found.query, found.hits, found.confidence, len(found), found.notes) == ("q", (), 0.5, 0, ("n",))
    assert packer.calls == 0
    assert (found.token_count, found.text, found.token_count) == (2, "two words", 2)
    assert packer.calls == 1


@pytest.mark.parametrize(
    "read",
    [
        lambda found: found,
        lambda found: pickle.loads(pickle.dumps(found)),
        copy.copy,
        copy.deepcopy,
        replace,
        lambda found: _WIRE.validate_json(_WIRE.dump_json(found)),
    ],
    ids=["itself", "pickled", "copied", "copied deeply", "replaced", "over the wire"],
)
def test_a_result_that_is_packed_later_equals_one_that_was_packed(
    read: Callable[[Recalled], Recalled],
) -> None:
    assert read(packed_on_first_read(LATER, Packer())) == WHOLE


def test_its_repr_is_that_of_a_packed_one() -> None:
    assert repr(packed_on_first_read(LATER, Packer())) == repr(WHOLE)
    assert asdict(packed_on_first_read(LATER, Packer())) == asdict(WHOLE)


def test_the_original_result_does_not_change() -> None:
    packed_on_first_read(WHOLE, lambda hits: ("other", 1))
    assert (WHOLE.text, WHOLE.token_count) == ("two words", 2)


def test_unknown_attributes_still_raise_and_nothing_can_be_set() -> None:
    packer = Packer()
    found = packed_on_first_read(LATER, packer)
    assert not hasattr(found, "texts")
    with pytest.raises(AttributeError, match="cannot assign to field 'text'"):
        found.text = "other"  # type: ignore[misc]
    assert packer.calls == 0


def test_a_packer_that_fails_is_called_again() -> None:
    def fail(hits: Sequence[Hit]) -> tuple[str, int]:
        raise ValueError("not now")

    found = packed_on_first_read(LATER, fail)
    for _ in range(2):
        with pytest.raises(ValueError, match="not now"):
            _ = found.text
