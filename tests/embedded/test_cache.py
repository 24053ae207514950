from pathlib import Path

import pytest

from mnemic.db.embedded import EmbeddedServer, cache
from tests.embedded.user_process import connect

MEGABYTE = 1 << 20


def sized(pgdata: Path, *, data_mb: int, machine_mb: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """The cache size for this much data and memory."""
    monkeypatch.setattr(cache, "memory_mb", lambda: machine_mb)
    (pgdata / "base" / "5").mkdir(parents=True)
    with (pgdata / "base" / "5" / "16384").open("wb") as file:
        file.truncate(data_mb * MEGABYTE)
    return cache.cache_mb(pgdata)


@pytest.mark.parametrize(
    ("data_mb", "machine_mb", "cache_mb"),
    [
        (10, 65_536, 128),
        (300, 65_536, 600),
        (10_000, 8_192, 1_024),
        (10_000, 512, 128),
        (10_000, 65_536, 4_096),
    ],
)
def test_the_cache_size_follows_the_data_within_the_machines_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data_mb: int, machine_mb: int, cache_mb: int
) -> None:
    assert sized(tmp_path, data_mb=data_mb, machine_mb=machine_mb, monkeypatch=monkeypatch) == cache_mb


def test_a_stray_file_among_the_databases_is_ignored(tmp_path: Path) -> None:
    (tmp_path / "base").mkdir()
    (tmp_path / "base" / ".DS_Store").write_bytes(b"stray")
    assert cache.cache_mb(tmp_path) == cache.CACHE_MIN_MB


def test_a_small_cluster_has_a_small_cache_and_joining_does_not_change_it(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with EmbeddedServer.start(data_dir) as server, connect(server) as connection:
        assert connection.execute("SHOW shared_buffers").fetchone() == ("128MB",)
        monkeypatch.setattr(cache, "CACHE_MIN_MB", 256)
        with EmbeddedServer.start(data_dir):
            assert "other settings" not in caplog.text
