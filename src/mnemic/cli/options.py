"""Options that commands share, and the settings made of them."""

from pathlib import Path
from typing import Annotated

import typer

from mnemic.config import Settings, load_settings
from mnemic.errors import ConfigurationError

Url = Annotated[
    str | None,
    typer.Option(
        "--url",
        help="postgresql:// URL of your own database, or https:// URL of a Mnemic server, whose key is in "
        "MNEMIC_API_KEY (env: MNEMIC_DATABASE_URL).",
    ),
]
DatabaseUrl = Annotated[
    str | None,
    typer.Option("--url", help="postgresql:// URL of your own database (env: MNEMIC_DATABASE_URL)."),
]
DataDir = Annotated[
    Path | None,
    typer.Option("--data-dir", help="Folder of the embedded server (env: MNEMIC_DATA_DIR)."),
]
TenantName = Annotated[str | None, typer.Option("--tenant", help="Tenant to work in (env: MNEMIC_TENANT).")]
Owner = Annotated[str | None, typer.Option("--owner", help="Owner of the memories (env: MNEMIC_OWNER).")]
Channel = Annotated[str | None, typer.Option("--channel", help="Channel (env: MNEMIC_CHANNEL).")]
Embedder = Annotated[
    str | None,
    typer.Option("--embedder", help="Embedding model: local, test or provider:model (env: MNEMIC_EMBEDDER)."),
]
Replace = Annotated[bool, typer.Option("--replace", help="Overwrite existing data.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables and text.")]


def settings_from(url: str | None, data_dir: Path | None, tenant: str | None = None) -> Settings:
    """The settings of the environment, overridden by the command's options."""
    if url is not None and data_dir is not None:
        raise ConfigurationError("Give either --url or --data-dir, not both.")
    settings = load_settings(database_url=url, data_dir=data_dir, tenant=tenant)
    return settings.model_copy(update={"database_url": None}) if data_dir is not None else settings
