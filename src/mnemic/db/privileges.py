"""Privileges that a role needs to migrate, and the SQL that grants them.

On a managed server the role in the URL often may create neither roles nor extensions. Then nothing is
changed, and the error lists the statements that an administrator must run.
"""

from psycopg import AsyncConnection, sql
from psycopg.rows import DictRow

from mnemic.errors import ConfigurationError, MissingPrivilegeError
from mnemic.sql import query

OLDEST_SERVER_VERSION = 150000


async def require_privileges(connection: AsyncConnection[DictRow]) -> DictRow:
    """Return what is missing; MissingPrivilegeError if this role may not create it."""
    cursor = await connection.execute(query("provision.needs"))
    needs = await cursor.fetchone()
    assert needs is not None, "the current role exists"
    if needs["server_version"] < OLDEST_SERVER_VERSION:
        raise ConfigurationError(
            f"The server is PostgreSQL {needs['server_version'] // 10000}; Mnemic needs "
            f"{OLDEST_SERVER_VERSION // 10000} or newer."
        )
    if needs["lacks_vector"] and needs["vector_available"] is None:
        raise ConfigurationError(
            "The server has no pgvector. Install it there (package postgresql-NN-pgvector, 0.7 or newer), "
            "then run `mnemic migrate` again."
        )
    statements = list(_administrator_statements(needs))
    if statements:
        text = "\n".join(statement.as_string(connection) for statement in statements)
        raise MissingPrivilegeError(
            f"The role {needs['role']!r} may not prepare the database {needs['database']!r} for Mnemic.",
            sql=text,
        )
    return needs


def _administrator_statements(needs: DictRow) -> list[sql.Composed]:
    role, database = sql.Identifier(needs["role"]), sql.Identifier(needs["database"])
    statements = []
    if needs["lacks_vector"] and not needs["may_create_vector"]:
        statements.append(sql.SQL("CREATE EXTENSION vector;").format())
    if not needs["may_create_roles"]:
        if needs["lacks_app_role"]:
            statements.append(sql.SQL("CREATE ROLE mnemic_app NOLOGIN;").format())
        if needs["lacks_definer_role"]:
            statements.append(sql.SQL("CREATE ROLE mnemic_definer NOLOGIN;").format())
    if not needs["is_definer"] and not needs["may_grant_definer"]:
        statements.append(sql.SQL("GRANT mnemic_definer TO {};").format(role))
    if needs["may_create_roles"] and not needs["may_grant_app"]:
        statements.append(sql.SQL("GRANT mnemic_app TO {} WITH ADMIN OPTION;").format(role))
    if not needs["may_create_schemas"]:
        statements.append(sql.SQL("GRANT CREATE ON DATABASE {} TO {};").format(database, role))
    return statements
