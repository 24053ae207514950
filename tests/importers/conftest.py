"""Fixtures of the importer tests."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.fresh_tenants import (  # noqa: F401 (fixtures)
    memory,
    open_memory,
    rows,
    superuser,
)

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a file of JSON: one value, or a line for each."""

    def write_one(name: str, *values: Any) -> Path:
        path = tmp_path / name
        path.write_text("\n".join(json.dumps(value, ensure_ascii=False) for value in values), "utf-8")
        return path

    return write_one
