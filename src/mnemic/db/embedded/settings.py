"""The settings that the server is started with.

They are passed on its command line, so no file and no ALTER SYSTEM overrides them. Settings that protect
data and access cannot be changed.
"""

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from mnemic.errors import ConfigurationError

PORT = "5432"  # Part of the socket file's name only; the server does not listen on TCP.

DEFAULT_SETTINGS: Mapping[str, str] = {
    # Claiming jobs scans the dead rows of finished jobs, so vacuum the queue often.
    "autovacuum_naptime": "10s",
    "cluster_name": "mnemic",
    "log_checkpoints": "off",
    "log_line_prefix": "%m [%p] ",
    "max_connections": "100",
}

# Mnemic decides where the server listens and who may connect; the others could lose data in a crash.
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

SYNCFS_MIN_KERNEL = (5, 8)
"""First Linux whose `syncfs` reports every error of the disk."""

_SETTING_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)?")


def merged_settings(server_settings: Mapping[str, str]) -> dict[str, str]:
    """The defaults with the caller's settings over them; raises `ConfigurationError` for a refused one."""
    chosen = {name.lower(): value for name, value in server_settings.items()}
    for name, value in chosen.items():
        if not _SETTING_NAME.fullmatch(name):
            raise ConfigurationError(f"{name!r} is not the name of a PostgreSQL setting")
        if name in REFUSED_SETTINGS:
            raise ConfigurationError(
                f"the server setting {name} cannot be changed: that could lose data or open the server "
                "to others. Leave it out, or use a PostgreSQL of your own by URL."
            )
        if "\0" in value:
            raise ConfigurationError(f"the server setting {name} has a value with a NUL character")
    return {**DEFAULT_SETTINGS, **chosen}


def recovery_settings() -> dict[str, str]:
    """After a crash, sync the file system as a whole instead of each of more than a thousand files.

    On a busy disk, syncing file by file takes a minute or more, before recovery even begins.
    """
    if sys.platform != "linux" or _kernel_version() < SYNCFS_MIN_KERNEL:
        return {}
    return {"recovery_init_sync_method": "syncfs"}


def _kernel_version() -> tuple[int, ...]:
    numbers = re.match(r"(\d+)\.(\d+)", os.uname().release)
    return tuple(map(int, numbers.groups())) if numbers is not None else (0,)


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
