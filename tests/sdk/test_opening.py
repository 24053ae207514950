"""Opening: arguments, environment, and invalid options."""

from pathlib import Path

import pytest

from mnemic import Memory
from mnemic.db.embedded import status
from mnemic.errors import ConfigurationError, DatabaseUnavailableError, MnemicError

SECRET = "hunter2"


def test_an_api_key_without_a_server_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="api_key needs"):
        Memory(data_dir=tmp_path, api_key=SECRET)


def test_url_and_data_dir_exclude_each_other(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="exclude each other"):
        Memory("postgresql://localhost/x", data_dir=tmp_path)


@pytest.mark.parametrize(
    "url",
    [f"mysql://root:{SECRET}@localhost/x", f"postgresql://u:{SECRET}@h:notaport/x", f"u:{SECRET}@localhost"],
)
def test_an_invalid_url_is_an_error_without_its_password(url: str) -> None:
    with pytest.raises(MnemicError) as caught:
        Memory(url)
    assert SECRET not in str(caught.value)


def test_an_unreachable_url_never_falls_back_to_the_embedded_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MNEMIC_DATA_DIR", str(tmp_path / "data"))
    with pytest.raises(DatabaseUnavailableError) as caught:
        Memory(f"postgresql://u:{SECRET}@127.0.0.1:1/x")
    assert SECRET not in str(caught.value)
    assert not (tmp_path / "data").exists()


def test_the_environment_supplies_missing_arguments(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MNEMIC_DATA_DIR", str(folder))
    monkeypatch.setenv("MNEMIC_TENANT", "from the environment")
    monkeypatch.setenv("MNEMIC_OWNER", "eve")
    monkeypatch.setenv("MNEMIC_EMBEDDER", "test")
    with Memory(channel="given") as memory:
        assert (memory.tenant.name, memory.owner, memory.channel) == ("from the environment", "eve", "given")


def test_data_dir_overrides_a_url_in_the_environment(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MNEMIC_DATABASE_URL", "postgresql://127.0.0.1:1/x")
    with Memory(data_dir=folder, embedder="test") as memory:
        assert memory.tenant.name == "default"


def test_an_invalid_setting_is_an_error_without_its_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MNEMIC_POOL_SIZE", SECRET)
    with pytest.raises(ConfigurationError, match="pool_size") as caught:
        Memory()
    assert SECRET not in str(caught.value)


def test_an_invalid_embedder_is_an_error_before_the_server_starts(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError):
        Memory(data_dir=tmp_path / "data", embedder="nobody:nothing")
    assert not status(tmp_path / "data").running


@pytest.mark.parametrize("tenant", ["", "x" * 129, "line\nbreak"])
def test_an_invalid_tenant_name_is_an_error(folder: Path, tenant: str) -> None:
    with pytest.raises(MnemicError):
        Memory(data_dir=folder, tenant=tenant, embedder="test")
