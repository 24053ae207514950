"""The embedded server: a PostgreSQL that starts on first use and stops after its last user.

The first process that opens a data folder starts the server, others join it, and it stops when the last
one has closed it. There is no reference count: every user shares a file lock, and a small *keeper*
process, the parent of the postmaster, waits for the exclusive lock. The kernel releases the locks of a
process however it ends, so after kill -9 of any process nothing is left running and no data are lost.

Read in this order: `server` (the interface), `launch` (join or start), `keeper` (the process that
stops the server), `folder` (files and locks in the data folder), `cluster` (initdb, who may
connect), `account`, `server_uid` and `binaries` (running as another user than root), `socket_folder`,
`settings`.

Only the standard library is imported here.
"""

from mnemic.db.embedded.account import AccountStatus, account_status
from mnemic.db.embedded.binaries import missing_cpu_features, server_binaries
from mnemic.db.embedded.cluster import ADMIN_ROLE
from mnemic.db.embedded.server import EmbeddedServer, ServerStatus, status, stop

__all__ = [
    "ADMIN_ROLE",
    "AccountStatus",
    "EmbeddedServer",
    "ServerStatus",
    "account_status",
    "missing_cpu_features",
    "server_binaries",
    "status",
    "stop",
]
