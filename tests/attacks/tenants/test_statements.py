"""Every attack of one tenant on another fails, and succeeds once its weakness is introduced."""

from collections.abc import Callable, Iterator
from uuid import uuid4

import psycopg
import pytest

from mnemic.db.access import DATABASE_NAME, Access
from mnemic.db.embedded import ADMIN_ROLE, EmbeddedServer
from mnemic.db.tenancy import Tenant
from tests.attacks.tenants import document_statements, storing_statements
from tests.attacks.tenants.statements import HARMLESS, REFUSED, SEARCHES, SPECIAL
from tests.attacks.tenants.target import (
    BUILD,
    CHANGE_MODEL,
    CHANGED,
    MARKER,
    WEAKNESSES,
    Attacker,
    AttackTarget,
    outcome_of,
)
from tests.conftest import AppConnection, ConnectAs, Databases, access_to

Attack = Callable[[Attacker], object]


def run(statements: str) -> Attack:
    return lambda attacker: attacker.run(statements)


def refused(statements: str) -> Attack:
    return lambda attacker: attacker.must_be_refused(statements)


def listed(*lists: dict[str, tuple[str, ...]]) -> Iterator[tuple[str, str]]:
    """The attacks of some lists, each with its weakness."""
    return ((weak, text) for each in lists for weak, texts in each.items() for text in texts)


ATTACKS = [
    *(
        pytest.param(weak, run(text), id=text)
        for weak, text in listed(HARMLESS, document_statements.HARMLESS, storing_statements.HARMLESS)
    ),
    *(
        pytest.param(weak, refused(text), id=text)
        for weak, text in listed(REFUSED, document_statements.REFUSED)
    ),
    *(
        pytest.param(weak, attack, id=attack.__name__)
        for special in (SPECIAL, storing_statements.SPECIAL)
        for weak, found in special.items()
        for attack in found
    ),
]


class Builder:
    """Makes attack targets, each a clone of one database with the two tenants."""

    def __init__(self, template_access: Access, databases: Databases, server: EmbeddedServer) -> None:
        self._template_access = template_access
        self._databases = databases
        self._server = server
        self._template = databases.make(template=DATABASE_NAME)
        self._built: dict[str, AttackTarget] = {}
        with psycopg.connect(self._conninfo(self._template), autocommit=True) as admin:
            admin.execute(BUILD.encode())
            target = AttackTarget.open(access_to(self._template_access, self._template), admin)
        with target.b_connection, target.connect(target.b) as application:
            application.execute(CHANGE_MODEL.encode())
            application.execute("COMMIT")

    def build(self) -> AttackTarget:
        name = self._databases.make(template=self._template)
        admin = psycopg.connect(self._conninfo(name), autocommit=True)
        self._built[name] = AttackTarget.open(access_to(self._template_access, name), admin)
        return self._built[name]

    def tear_down(self) -> None:
        for name, target in self._built.items():
            target.close()
            self._databases.give_back(name)
        self._databases.give_back(self._template)

    def _conninfo(self, name: str) -> str:
        return self._server.conninfo(user=ADMIN_ROLE, dbname=name)


@pytest.fixture(scope="module")
def builder(template_access: Access, databases: Databases, server: EmbeddedServer) -> Iterator[Builder]:
    builder = Builder(template_access, databases, server)
    yield builder
    builder.tear_down()


@pytest.fixture(scope="module")
def target(builder: Builder) -> AttackTarget:
    """One target for all attacks, since none of them changes it."""
    return builder.build()


@pytest.fixture(scope="module")
def weak_targets() -> dict[str, AttackTarget]:
    """Weakened targets that no attack has changed yet, by weakness."""
    return {}


@pytest.fixture(scope="module")
def state_of_b(target: AttackTarget) -> object:
    return target.state_of_b()


@pytest.mark.parametrize(("weakness", "attack"), ATTACKS)
def test_an_attack_on_another_tenant_fails(
    weakness: str, attack: Attack, target: AttackTarget, state_of_b: object
) -> None:
    assert outcome_of(attack, target, before=state_of_b) == []


@pytest.mark.parametrize(("weakness", "attack"), ATTACKS)
def test_an_attack_succeeds_once_its_weakness_is_introduced(
    weakness: str, attack: Attack, builder: Builder, weak_targets: dict[str, AttackTarget], state_of_b: object
) -> None:
    target = weak_targets.pop(weakness, None) or builder.build()
    target.weaken(weakness)
    try:
        breaches = outcome_of(attack, target, before=state_of_b)
    finally:
        target.strengthen_login()
    assert breaches != []
    if CHANGED not in breaches:
        weak_targets[weakness] = target


def test_every_weakness_has_an_attack() -> None:
    assert {str(parameters.values[0]) for parameters in ATTACKS} == WEAKNESSES.keys()


def test_a_transaction_without_proof_reads_and_writes_nothing(
    connect_as: ConnectAs, admin: AppConnection
) -> None:
    admin.execute(BUILD.encode())
    for statement in ("TABLE state.attack_probe", "TABLE state.memories", "TABLE state.tenants"):
        assert connect_as(None).execute(statement.encode()).fetchall() == []
    for statement in ("UPDATE state.attack_probe SET code = code", "DELETE FROM state.attack_probe"):
        assert connect_as(None).execute(statement.encode()).rowcount == 0
    rows = admin.execute("SELECT tenant_id FROM state.tenants").fetchall()
    for (tenant_id,) in rows:
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
            connect_as(None).execute("INSERT INTO state.attack_probe VALUES (%s)", (tenant_id,))
    refused = (
        "INSERT INTO state.tenants (name) VALUES ('planted')",
        "SELECT mnemic.erase_owner('somebody')",
        "SELECT mnemic.import_rows('state.memories', 'somebody', '[]')",
        "SELECT mnemic.open_vector_table('planted', 3)",
        "SELECT mnemic.make_log_partitions(current_date, 1)",
        "SELECT mnemic.refresh_statistics('somebody')",
        "SELECT mnemic.set_first_model('planted', 3)",
        "SELECT mnemic.drop_vectors('planted')",
        *(search.replace("{as_of}", as_of) for search in SEARCHES for as_of in ("NULL", "now()")),
    )
    for statement in refused:
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match=r"row-level security|prove|proof"):
            connect_as(None).execute(statement.encode())


def test_a_transaction_of_a_missing_tenant_reads_nothing(connect_as: ConnectAs, admin: AppConnection) -> None:
    admin.execute(BUILD.encode())
    nobody = Tenant(uuid4(), "nobody")
    for search in SEARCHES:
        assert connect_as(nobody).execute(search.replace("{as_of}", "NULL").encode()).fetchall() == []
    assert connect_as(nobody).execute("TABLE state.attack_probe").fetchall() == []
    assert MARKER not in str(connect_as(nobody).execute("TABLE state.tenants").fetchall())
