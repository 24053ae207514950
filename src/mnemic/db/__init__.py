"""The database layer: the embedded server, migrations, tenant transactions, notifications.

Read in this order: `access` (opening a database: the login and the signing key), `database` (pool and
transactions), `tenancy` (proofs), `migrate`, `listen`, `embedded` (the server that ships with Mnemic).
"""
