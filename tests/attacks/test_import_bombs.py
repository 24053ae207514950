"""Attacks by files to import: archives that unpack to more than they should, records without an end."""

import io
import json
import re
import zipfile
from pathlib import Path
from uuid import uuid4

import pytest

from mnemic.adapters.importing import files, records
from mnemic.adapters.importing.files import text_files
from mnemic.adapters.importing.records import read_records
from mnemic.errors import InvalidInputError

WANTED = re.compile(r".*\.json")


def test_members_that_share_their_data_are_refused(tmp_path: Path) -> None:
    """Each member is below the ratio; the archive has its data once and unpacks it a thousand times."""
    path = tmp_path / "export.zip"
    content = json.dumps([{"text": str(uuid4())} for _ in range(2_000)])
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("0.json", content)
        (first,) = archive.filelist
        for number in range(1, 1000):
            shared = zipfile.ZipInfo(f"{number}.json")
            for name in ("header_offset", "compress_size", "file_size", "CRC", "compress_type"):
                setattr(shared, name, getattr(first, name))
            archive.filelist.append(shared)
    with pytest.raises(InvalidInputError, match=f"{files.COMPRESSION_MAX_RATIO} times"):
        next(text_files(path, WANTED))


def test_an_object_of_many_values_is_a_record_and_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "RECORD_MAX_CHARACTERS", 100_000)
    endless = "{" + ",".join(f'"key {number}": "{"x" * 1000}"' for number in range(1000)) + "}"
    with pytest.raises(InvalidInputError, match="more than 100,000 characters"):
        list(read_records(io.StringIO(endless), "export.json", wrappers=("results",)))
    fitting = "{" + ",".join(f'"key {number}": "x"' for number in range(1000)) + "}"
    (record,) = read_records(io.StringIO(fitting), "export.json", wrappers=("results",))
    assert len(record.value) == 1000


def test_hostile_records_are_refused(subtests: pytest.Subtests) -> None:
    for name, text in {
        "deep": "[" * 100_000,
        "deep objects": '{"a":' * 100_000,
        "a huge number": '{"a": ' + "1" * 1_000_000 + "}",
        "no end": '[{"a": "' + "x" * 1_000_000,
    }.items():
        with subtests.test(name), pytest.raises(InvalidInputError, match=r"export\.json"):
            list(read_records(io.StringIO(text), "export.json", wrappers=("results",)))
