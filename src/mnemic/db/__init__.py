"""The database layer: the embedded server, migrations, tenant transactions, notifications.

Read in this order: `access` (how a place becomes a usable database), `database` (pool and
transactions), `tenancy` (proofs), `migrate`, `listen`, `embedded` (the server that we bring).
"""
