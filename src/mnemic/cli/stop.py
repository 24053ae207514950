"""`mnemic stop`: stop an embedded server that keeps running."""

from mnemic.cli.options import DataDir, settings_from
from mnemic.cli.output import print_line
from mnemic.db.embedded import stop as stop_server


def stop(data_dir: DataDir = None) -> None:
    """Stop the embedded server, as soon as no process uses it."""
    folder = settings_from(None, data_dir).data_dir
    if stop_server(folder):
        print_line(f"The embedded server of {folder} is stopped.")
    else:
        print_line(f"The embedded server of {folder} is still in use; it stops after its last user.")
