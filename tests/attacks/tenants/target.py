"""A database with two tenants, an attacker in one of them, and a check of whether the other was affected.

The attacker has the application's login, a transaction of tenant A with a valid proof, and runs any SQL.
A *breach* is: data of B in anything that the attacker sees (rows, notices, error texts), a statement that
should have been refused, or a change in the data that B has or sees.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import psycopg
from psycopg import ClientCursor

from mnemic.db.access import Access
from mnemic.db.tenancy import Tenant
from tests.conftest import AppConnection
from tests.proofs import begin_as

# Part of all values of B: its name, its codes, its secrets.
MARKER = "beta-marker"
SECRET = f"{MARKER}-secret"

BUILD = f"""
INSERT INTO state.tenants (name) VALUES ('alpha'), ('{MARKER}-name');

CREATE TABLE state.attack_probe (
    tenant_id uuid NOT NULL REFERENCES state.tenants,
    id uuid NOT NULL DEFAULT mnemic.new_id(),
    code text NOT NULL,
    secret text NOT NULL,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, code)
);
CALL mnemic.protect('state.attack_probe');

CREATE TABLE state.attack_child (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL DEFAULT mnemic.new_id(),
    probe_id uuid NOT NULL,
    PRIMARY KEY (tenant_id, id),
    CONSTRAINT of_probe FOREIGN KEY (tenant_id, probe_id) REFERENCES state.attack_probe
);
CALL mnemic.protect('state.attack_child');

INSERT INTO state.attack_probe (tenant_id, code, secret)
SELECT tenant_id, 'alpha-' || number, 'alpha-' || number
FROM state.tenants, generate_series(1, 3) AS number WHERE name = 'alpha';
-- Many rows with the same secret: that is what statistics remember.
INSERT INTO state.attack_probe (tenant_id, code, secret)
SELECT tenant_id, '{MARKER}-' || number, '{SECRET}'
FROM state.tenants, generate_series(1, 200) AS number WHERE name LIKE '{MARKER}%';
ANALYZE state.attack_probe;

-- A real memory, which a function of mnemic_definer searches past the policy.
INSERT INTO state.memories (tenant_id, owner, channel, process, content, category, source)
SELECT tenant_id, 'somebody', 'here', 'test', name || ' has a secret', 'factual', 'imported'
FROM state.tenants;

-- A document of each tenant, ingested and made of that memory.
INSERT INTO state.reference_documents (tenant_id, owner, name, content_hash, character_count, process)
SELECT tenant_id, 'somebody', name, sha256('text'), 4, 'test' FROM state.tenants;
INSERT INTO state.document_sources (
    tenant_id, document_id, owner, channel, tags, media_type, content, sections
)
SELECT tenant_id, document_id, owner, 'here', '{{}}', 'text/plain', name, '[]' FROM state.reference_documents;
INSERT INTO state.document_chunks (
    tenant_id, document_id, owner, content_hash, occurrence, memory_id, chunk_index, start_character,
    end_character, context
)
SELECT tenant_id, document_id, owner, sha256('text'), 0, memory_id, 0, 0, 4, document.name
FROM state.reference_documents AS document JOIN state.memories USING (tenant_id, owner);
"""

# Tables with rows of B.
TABLES = (
    "state.attack_probe",
    "state.attack_child",
    "state.tenants",
    "state.memories",
    "state.document_sources",
    "state.document_chunks",
    "queue.reembedding",
    "queue.embedding_backlog",
    "queue.deduplication_backlog",
    "vectors.tenant_models",
)

# State of B: a model serves it, it is changing to one whose table is empty, and it has old vectors of a
# third. A uses none of them.
FIRST_MODEL, NEXT_MODEL, OLD_MODEL = (f"{MARKER}-{name}-model" for name in ("first", "next", "old"))
CHANGE_MODEL = f"""
SELECT mnemic.set_first_model('{FIRST_MODEL}', 3);
SELECT mnemic.open_vector_table('{NEXT_MODEL}', 3);
SELECT mnemic.begin_model_change('{NEXT_MODEL}');
INSERT INTO queue.reembedding (tenant_id, memory_id) SELECT tenant_id, memory_id FROM state.memories;
SELECT mnemic.open_vector_table('{OLD_MODEL}', 3);
DO $$ BEGIN EXECUTE format(
    'INSERT INTO vectors.%I SELECT tenant_id, memory_id, owner, ''[1,0,0]'' FROM state.memories',
    (SELECT table_name FROM mnemic.vector_models WHERE model = '{OLD_MODEL}')
); END $$;
"""

# Ways to weaken the isolation of tenants. Each attack names the weakness with which it must succeed, which
# shows that the test detects it.
WEAKNESSES = {
    "policy off": """
        ALTER TABLE state.attack_probe DISABLE ROW LEVEL SECURITY;
        ALTER TABLE state.attack_child DISABLE ROW LEVEL SECURITY;
        ALTER TABLE state.tenants DISABLE ROW LEVEL SECURITY;
        ALTER TABLE state.memories DISABLE ROW LEVEL SECURITY;
        ALTER TABLE state.document_sources DISABLE ROW LEVEL SECURITY;
        ALTER TABLE state.document_chunks DISABLE ROW LEVEL SECURITY;
        ALTER TABLE vectors.tenant_models DISABLE ROW LEVEL SECURITY;
        ALTER TABLE queue.reembedding DISABLE ROW LEVEL SECURITY""",
    "policies of the role": """
        ALTER POLICY same_tenant ON state.attack_probe TO mnemic_app""",
    "superuser": "ALTER ROLE {login} SUPERUSER",
    "readable key": "GRANT SELECT ON mnemic.signing_key TO mnemic_app",
    "settings are trusted": """
        CREATE OR REPLACE FUNCTION mnemic.verified_claim(purpose text) RETURNS text
        LANGUAGE plpgsql STABLE STRICT AS $$
        BEGIN RETURN nullif(current_setting('mnemic.' || purpose, true), ''); END $$""",
    "proofs never expire": """
        CREATE OR REPLACE FUNCTION mnemic.transaction_identity() RETURNS text LANGUAGE sql STABLE RETURN
        'always'""",
    "statistics are kept": """
        ALTER TABLE state.attack_probe ALTER secret SET STATISTICS -1;
        ANALYZE state.attack_probe""",
    "keys without the tenant": """
        CREATE UNIQUE INDEX ON state.attack_probe (code);
        CREATE UNIQUE INDEX ON state.attack_probe (id);
        ALTER TABLE state.attack_child DROP CONSTRAINT of_probe;
        ALTER TABLE state.attack_child ADD FOREIGN KEY (probe_id) REFERENCES state.attack_probe (id)""",
    "a schema of one's own and no pinned search path": """
        CREATE SCHEMA planted;
        GRANT CREATE, USAGE ON SCHEMA planted TO PUBLIC;
        ALTER FUNCTION mnemic.verified_claim RESET search_path""",
    "what others have is not seen when a model is dropped": """
        DROP POLICY find_unused_models ON vectors.tenant_models;
        DO $$ BEGIN EXECUTE replace(
            pg_get_functiondef('mnemic.drop_vectors(text)'::regprocedure),
            'NO FORCE ROW LEVEL SECURITY', 'FORCE ROW LEVEL SECURITY'
        ); END $$""",
    "values are in the text of queries": "GRANT EXECUTE ON FUNCTION pg_stat_get_activity(int) TO PUBLIC",
}


@dataclass
class AttackTarget:
    """The database with the two tenants, and an administrator's connection."""

    access: Access
    admin: AppConnection
    b_connection: AppConnection
    a: Tenant
    b: Tenant
    b_row: str
    weakness: str | None = None

    @classmethod
    def open(cls, access: Access, admin: AppConnection) -> "AttackTarget":
        rows = admin.execute("SELECT tenant_id, name FROM state.tenants").fetchall()
        tenants = {str(name): Tenant(UUID(str(tenant_id)), str(name)) for tenant_id, name in rows}
        b = tenants[f"{MARKER}-name"]
        row = admin.execute(
            "SELECT id FROM state.attack_probe WHERE tenant_id = %s LIMIT 1", (b.id,)
        ).fetchone()
        assert row is not None
        b_connection = psycopg.connect(access.conninfo(), autocommit=True)
        return cls(access, admin, b_connection, tenants["alpha"], b, str(row[0]))

    def close(self) -> None:
        self.admin.close()
        self.b_connection.close()

    def weaken(self, weakness: str) -> None:
        if self.weakness == weakness != "superuser":
            return
        self.weakness = weakness
        self.admin.execute(WEAKNESSES[weakness].format(login=self.access.key.login).encode())

    def strengthen_login(self) -> None:
        """Undo the weakness of the login, a role that all databases of the server share."""
        self.admin.execute(f"ALTER ROLE {self.access.key.login} NOSUPERUSER".encode())

    def connect(self, tenant: Tenant) -> AppConnection:
        """A connection of the application, in a transaction of the tenant."""
        connection = psycopg.connect(self.access.conninfo(), autocommit=True)
        begin_as(connection, self.access.key, tenant)
        return connection

    def state_of_b(self) -> list[Any]:
        """The rows of B, as the administrator and as B see them."""
        queries = [f"SELECT * FROM {table} WHERE tenant_id = '{self.b.id}' ORDER BY 1, 2" for table in TABLES]
        queries.append(f"SELECT model FROM mnemic.vector_models WHERE model LIKE '{MARKER}%' ORDER BY 1")
        begin_as(self.b_connection, self.access.key, self.b)
        try:
            connections = (self.admin, self.b_connection)
            return [each.execute(text.encode()).fetchall() for each in connections for text in queries]
        finally:
            self.b_connection.execute("ROLLBACK")


@dataclass
class Attacker:
    """A session of tenant A that records everything it sees."""

    target: AttackTarget
    connection: AppConnection
    seen: list[str] = field(default_factory=list)
    breaches: list[str] = field(default_factory=list)

    @classmethod
    def enter(cls, target: AttackTarget) -> "Attacker":
        attacker = cls(target, target.connect(target.a))
        attacker.listen_to(attacker.connection)
        return attacker

    def listen_to(self, connection: AppConnection) -> None:
        connection.add_notice_handler(lambda notice: self.seen.append(_all_of(notice)))

    def run(self, statements: str, *, on: AppConnection | None = None) -> list[tuple[Any, ...]] | None:
        """Run SQL; returns the rows of all its results, or None if it was refused.

        After an error a new transaction of A begins.
        """
        connection = on or self.connection
        try:
            rows = _all_rows(connection.execute(self.filled(statements).encode()))
        except psycopg.Error as error:
            self.seen.append(f"{error}\n{_all_of(error.diag)}")
            if not connection.closed and connection is self.connection:
                connection.execute("ROLLBACK")
                begin_as(connection, self.target.access.key, self.target.a)
            return None
        self.seen += [str(row) for row in rows]
        return rows

    def must_be_refused(self, statements: str) -> None:
        if self.run(statements) is not None:
            self.breaches.append(f"allowed: {statements}")

    def must_find_nothing(self, statements: str, *, on: AppConnection | None = None) -> None:
        """For queries that contain the value they look for, so that finding it in an error proves nothing."""
        rows = self.run(statements, on=on)
        if rows and any(value is not None for row in rows for value in row):
            self.breaches.append(f"found {rows}: {statements}")

    def must_look_the_same(self, statements: str, right: str, wrong: str) -> None:
        """A guess must have the same outcome whether it is right or wrong, errors included."""
        outcomes = []
        for guess in (right, wrong):
            before = len(self.seen)
            rows = self.run(statements.replace("{guess}", guess))
            outcomes.append(f"{rows} {self.seen[before:]}".replace(guess, "guess"))
            self.run("ROLLBACK")
            begin_as(self.connection, self.target.access.key, self.target.a)
            del self.seen[before:]  # Repeating the guess is not a leak.
        if outcomes[0] != outcomes[1]:
            self.breaches.append(f"tells right from wrong: {statements}: {outcomes}")

    def filled(self, statements: str) -> str:
        names = {"{a}": self.target.a.id, "{b}": self.target.b.id, "{b_row}": self.target.b_row}
        for name, value in names.items():
            statements = statements.replace(name, str(value))
        return statements

    def leave(self) -> list[str]:
        """Commit and disconnect; returns the breaches."""
        if not self.connection.closed:
            # A superuser's changes to the server would outlive the test.
            self.run("ROLLBACK" if self.target.weakness == "superuser" else "COMMIT")
            self.connection.close()
        return self.breaches + [text for text in self.seen if MARKER in text]


CHANGED = "the data that B has or sees have changed"


def outcome_of(attack: Callable[[Attacker], object], target: AttackTarget, *, before: object) -> list[str]:
    """Run an attack; returns its breaches. `before` is the state of B before it."""
    attacker = Attacker.enter(target)
    try:
        attack(attacker)
    finally:
        breaches = attacker.leave()
    if _later_state(target) != before:
        breaches.append(CHANGED)
    return breaches


def _later_state(target: AttackTarget) -> object:
    try:
        return target.state_of_b()
    except psycopg.Error as error:
        return str(error)


def query_as_b(target: AttackTarget) -> AppConnection:
    """A connection of B in an open transaction that has run a query with B's secret."""
    connection = target.connect(target.b)
    statement = "SELECT id FROM state.attack_probe WHERE secret = %s"
    if target.weakness == "values are in the text of queries":
        ClientCursor(connection).execute(statement, (SECRET,))
    else:
        connection.execute(statement, (SECRET,))
    return connection


def _all_rows(cursor: psycopg.Cursor[tuple[object, ...]]) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    while True:
        if cursor.description is not None:
            rows += cursor.fetchall()
        if not cursor.nextset():
            return rows


def _all_of(diagnostic: Any) -> str:
    """All text fields of a notice or an error."""
    names = [name for name in dir(diagnostic) if not name.startswith("_")]
    return "\n".join(str(value) for name in names if isinstance(value := getattr(diagnostic, name), str))
