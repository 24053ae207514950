"""Transactions that prove a tenant, over plain connections of the driver."""

from typing import Any

import psycopg

from mnemic.db.access import Access
from mnemic.db.tenancy import Purpose, SigningKey, Tenant
from mnemic.sql import query


def begin_as(connection: psycopg.Connection[Any], key: SigningKey, tenant: Tenant | None) -> str:
    """Begin a transaction of this tenant (None: without a tenant); returns the proof."""
    moment = begin(connection)
    if tenant is None:
        return ""
    return prove(connection, key, "tenant", str(tenant.id), moment=moment)


def begin(connection: psycopg.Connection[Any]) -> str:
    """Begin as Mnemic does; returns the identity of the transaction."""
    cursor = connection.execute(query("session.begin"))
    cursor.nextset()
    (moment,) = cursor.fetchone() or ("",)
    return str(moment)


def prove(
    connection: psycopg.Connection[Any], key: SigningKey, purpose: Purpose, subject: str, *, moment: str
) -> str:
    """State and prove a subject in the current transaction; returns the proof."""
    proof = key.proof(purpose, subject, moment=moment)
    connection.execute(query("session.prove"), {"purpose": purpose, "subject": subject, "proof": proof})
    return proof


def backend_identity(connection: psycopg.Connection[Any]) -> str:
    """Identity of the connection's backend process, for signatures."""
    (process,) = connection.execute(query("session.process")).fetchone() or ("",)
    return str(process)


WRONG_SIGNATURES = ("none", "empty", "another process", "another tenant", "another purpose")
"""Signatures that an attacker could try without a valid one."""


def wrong_signature(
    whose: str, access: Access, connection: psycopg.Connection[Any], *, mine: Tenant, theirs: Tenant
) -> str | None:
    """One of `WRONG_SIGNATURES`, to be tried on a connection against the tenant `theirs`."""
    process = backend_identity(connection)
    with psycopg.connect(access.conninfo(), autocommit=True) as other:
        return {
            "none": None,
            "empty": "",
            "another process": access.key.signature(
                "authenticate", str(theirs.id), process=backend_identity(other)
            ),
            "another tenant": access.key.signature("authenticate", str(mine.id), process=process),
            "another purpose": access.key.signature("claim jobs", str(theirs.id), process=process),
        }[whose]
