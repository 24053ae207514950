"""The settings of a memory: its arguments, then given settings, then the environment."""

from os import PathLike
from pathlib import Path

from mnemic.config import Settings, load_settings
from mnemic.errors import ConfigurationError
from mnemic.runtime.storage import uses_http


def resolve_settings(
    url: str | None,
    data_dir: str | PathLike[str] | None,
    api_key: str | None,
    tenant: str | None,
    settings: Settings | None,
) -> Settings:
    """The given settings, or those of the environment, with the arguments on top."""
    if url is not None and data_dir is not None:
        raise ConfigurationError(
            "url and data_dir exclude each other: pass url for your own database, or data_dir for the "
            "embedded server."
        )
    given = {
        "database_url": url,
        "data_dir": Path(data_dir) if data_dir is not None else None,
        "api_key": api_key,
        "tenant": tenant,
    }
    base = settings.model_dump(exclude_unset=True) if settings is not None else {}
    resolved = load_settings(**base | {name: value for name, value in given.items() if value is not None})
    if api_key is not None and (data_dir is not None or not uses_http(resolved)):
        raise ConfigurationError(
            "api_key needs the https:// URL of a Mnemic server, and no such URL was given."
        )
    # data_dir selects the embedded server even if the environment names a URL.
    return resolved.model_copy(update={"database_url": None}) if data_dir is not None else resolved
