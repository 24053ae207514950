"""Transactions that prove a tenant, over plain connections of the driver."""

from typing import Any

import psycopg

from mnemic.db.tenancy import Purpose, SigningKey, Tenant
from mnemic.sql import query


def begin_as(connection: psycopg.Connection[Any], key: SigningKey, tenant: Tenant | None) -> str:
    """Begin a transaction of this tenant (None: of nobody); returns the proof."""
    moment = begin(connection)
    if tenant is None:
        return ""
    return prove(connection, key, "tenant", str(tenant.id), moment=moment)


def begin(connection: psycopg.Connection[Any]) -> str:
    """Begin as Mnemic does; returns how the database names the transaction."""
    cursor = connection.execute(query("session.begin"))
    cursor.nextset()
    (moment,) = cursor.fetchone() or ("",)
    return str(moment)


def prove(
    connection: psycopg.Connection[Any], key: SigningKey, purpose: Purpose, subject: str, *, moment: str
) -> str:
    """State and prove in the transaction that has begun; returns the proof."""
    proof = key.proof(purpose, subject, moment=moment)
    connection.execute(query("session.prove"), {"purpose": purpose, "subject": subject, "proof": proof})
    return proof


def process_of(connection: psycopg.Connection[Any]) -> str:
    """How the database names the server process of a connection in signatures."""
    (process,) = connection.execute(query("session.process")).fetchone() or ("",)
    return str(process)
