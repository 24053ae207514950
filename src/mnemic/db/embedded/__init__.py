"""The embedded server: a PostgreSQL that starts when it is needed and stops when nobody is left.

The first process that opens a data folder starts the server, others join it, the last one out
makes it stop. Nobody counts pids: every user shares a file lock, and a small *keeper* process, the
parent of the postmaster, waits to get that lock for itself. The kernel gives locks back however a
process ends, so kill -9 of any process leaves nothing running and nothing lost.

Where to read on: `server` (what callers use), `launch` (join or start), `keeper` (the process that
stops it), `folder` (what lies in the data folder, and the locks), `cluster` (initdb, who may
connect), `account` and `binaries` (running below root), `socket_folder`, `settings`.

Only the standard library is imported here.
"""

from mnemic.db.embedded.binaries import missing_cpu_features, server_binaries
from mnemic.db.embedded.cluster import ADMIN_ROLE
from mnemic.db.embedded.server import EmbeddedServer, ServerStatus, status, stop

__all__ = [
    "ADMIN_ROLE",
    "EmbeddedServer",
    "ServerStatus",
    "missing_cpu_features",
    "server_binaries",
    "status",
    "stop",
]
