"""The settings that the server is started with.

They are given on its command line: nothing in a file and no ALTER SYSTEM overrides them. What
makes the server safe to share and safe to kill is not open to choice.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from mnemic.errors import ConfigurationError

PORT = "5432"  # Only names the socket file: nothing listens on a port.

DEFAULT_SETTINGS: Mapping[str, str] = {
    # Jobs come and go: whoever looks for the next one walks over all that went since the last vacuum.
    "autovacuum_naptime": "10s",
    "cluster_name": "mnemic",
    "log_checkpoints": "off",
    "log_line_prefix": "%m [%p] ",
    "max_connections": "100",
}

# Where it listens and who gets in belongs to the supervisor; the rest would let a crash cost data.
REFUSED_SETTINGS = frozenset(
    {
        "config_file",
        "data_directory",
        "data_sync_retry",
        "external_pid_file",
        "fsync",
        "full_page_writes",
        "hba_file",
        "ident_file",
        "ignore_invalid_pages",
        "listen_addresses",
        "port",
        "unix_socket_directories",
        "unix_socket_group",
        "unix_socket_permissions",
        "zero_damaged_pages",
    }
)

_SETTING_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)?")


def merged_settings(server_settings: Mapping[str, str]) -> dict[str, str]:
    """The defaults with the caller's settings over them; raises `ConfigurationError` for a refused one."""
    chosen = {name.lower(): value for name, value in server_settings.items()}
    for name, value in chosen.items():
        if not _SETTING_NAME.fullmatch(name):
            raise ConfigurationError(f"{name!r} is not the name of a PostgreSQL setting")
        if name in REFUSED_SETTINGS:
            raise ConfigurationError(
                f"the server setting {name} is Mnemic's own: changing it could lose data or open the server "
                "to others. Leave it out, or use a PostgreSQL of your own by URL."
            )
        if "\0" in value:
            raise ConfigurationError(f"the server setting {name} has a value that no program can be given")
    return {**DEFAULT_SETTINGS, **chosen}


def command_line(settings: Mapping[str, str], socket_dir: Path) -> list[str]:
    """The arguments that make the server use these settings and listen in this folder only."""
    fixed = {
        "fsync": "on",
        "full_page_writes": "on",
        "listen_addresses": "",
        "port": PORT,
        "unix_socket_directories": str(socket_dir),
    }
    return [part for name, value in {**settings, **fixed}.items() for part in ("-c", f"{name}={value}")]
