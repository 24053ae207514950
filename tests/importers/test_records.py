"""Records are read from arrays, wrapped arrays and JSON lines, whatever the size, and errors say where."""

import io
import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.adapters.importing import records
from mnemic.adapters.importing.records import read_records
from mnemic.errors import InvalidInputError


def read(text: str, **options: Any) -> list[Any]:
    return [record.value for record in read_records(io.StringIO(text), "file.json", **options)]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.lists(st.dictionaries(st.text(), VALUES, max_size=4), max_size=6)


@given(OBJECTS, st.integers(1, 40), st.sampled_from([None, 2]))
def test_all_forms_give_the_same_records_for_any_chunk_size(
    objects: list[dict[str, Any]], chunk: int, indent: int | None
) -> None:
    dumped = [json.dumps(each, ensure_ascii=False, indent=indent) for each in objects]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(records, "CHUNK_CHARACTERS", chunk)
        assert read(f"[{','.join(dumped)}]") == objects
        assert read("\n".join(dumped)) == objects
        wrapped = f'{{"count": 12, "items": [{" , ".join(dumped)}], "next": null}}'
        assert read(wrapped, wrappers=("items",)) == objects


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[{"a": 1}, 2]', "record 2, line 1: every element"),
        ('[{"a": 1},\n{"a": }]', "record 2, line 2"),
        ('[{"a": 1}', "record 2, line 1: ',' was expected"),
        ('{"a": 1}\n{"a": "cut o', "record 2, line 2: Unterminated string"),
        ('{"a": 1}\n\nb', "record 2, line 3: an object or an array"),
        ('{"a": 1},{"a": 2}', "record 2, line 1: a comma"),
        ("[" * 100_000, "every element"),
        ('{"a": ' + "[" * 100_000, "nested too deeply"),
        ('{"a": ' + "1" * 10_000 + "}", "a number is too long"),
    ],
)
def test_invalid_json_is_reported_with_its_position(text: str, said: str) -> None:
    with pytest.raises(InvalidInputError, match=re.escape(said)):
        read(text)


def test_an_error_in_a_large_file_is_found_without_reading_on() -> None:
    file = io.StringIO('[{"a": 1}, {"a" 2}, ' + '{"a": 1},' * 100_000)
    with pytest.raises(InvalidInputError, match="record 2"):
        list(read_records(file, "file.json"))
    assert file.tell() < 3 * records.CHUNK_CHARACTERS


def test_a_record_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "RECORD_MAX_CHARACTERS", 1_000)
    monkeypatch.setattr(records, "CHUNK_CHARACTERS", 100)
    file = io.StringIO('[{"a": "' + "x" * 100_000)
    with pytest.raises(InvalidInputError, match="more than 1,000 characters"):
        list(read_records(file, "file.json"))
    assert file.tell() < 3_000


def test_text_that_is_not_utf8_is_an_error() -> None:
    file = io.TextIOWrapper(io.BytesIO(b'[{"a": "\xff"}]'), encoding="utf-8")
    with pytest.raises(InvalidInputError, match="not UTF-8"):
        list(read_records(file, "file.json"))
