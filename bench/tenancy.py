"""The cost of row-level security: the same statements with and without it, alternating, in one run.

Two tables hold the same 200,000 rows. One has row-level security with the signed check; on the other the
application's login sees everything, and each statement has its own `WHERE tenant_id = …`. Only the
statement is measured, inside a transaction with a proven tenant; the cost of the proof per transaction is
shown separately.

    python bench/tenancy.py [--rounds N] [--json]

The exit code is 1 if a limit is exceeded: at most 0.2 ms more per statement, at most 15 % more for
statements that take over 5 ms.
"""

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, LiteralString

import psycopg
from psycopg import sql

from mnemic.db.access import DATABASE_NAME, Access, embedded_access
from mnemic.db.connection import Limits
from mnemic.db.embedded import ADMIN_ROLE, EmbeddedServer, stop
from mnemic.sql import query

ROWS = 200_000
TENANTS = 4
LIMITS = Limits(statement_timeout_s=600)

# PostgreSQL makes custom plans for the first five runs of a statement; long statements need fewer rounds.
WARM_UP_ROUNDS = 7
FEWEST_ROUNDS = 21
LONGEST_S = 5.0

LONG_MS = 5.0
LIMIT_MS = 0.2
LIMIT_RATIO = 1.15

# Both tables are filled and indexed in the same way, so that their layout on disk is the same.
BUILD = """
INSERT INTO state.tenants (name) SELECT 'bench ' || number FROM generate_series(1, {tenants}) AS number;
CREATE TABLE state.bench_protected AS
SELECT tenant_id, number AS id, 'kind ' || number % 7 AS kind, (number % 1000)::real AS weight,
    repeat(md5(number::text), 6) AS body,
    timestamptz '2026-01-01' + number * interval '1 minute' AS created_at
FROM generate_series(1, {rows} / {tenants}) AS number, state.tenants WHERE name LIKE 'bench %'
ORDER BY number, name;
CREATE TABLE state.bench_open AS TABLE state.bench_protected;
ALTER TABLE state.bench_protected ADD PRIMARY KEY (tenant_id, id);
ALTER TABLE state.bench_open ADD PRIMARY KEY (tenant_id, id);
CREATE INDEX ON state.bench_protected (tenant_id, created_at);
CREATE INDEX ON state.bench_open (tenant_id, created_at);

CREATE TABLE state.bench_protected_labels AS
SELECT tenant_id, id, 'label ' || id AS label FROM state.bench_protected WHERE id % 2 = 0;
CREATE TABLE state.bench_open_labels AS TABLE state.bench_protected_labels;
ALTER TABLE state.bench_protected_labels ADD PRIMARY KEY (tenant_id, id);
ALTER TABLE state.bench_open_labels ADD PRIMARY KEY (tenant_id, id);

CALL mnemic.protect('state.bench_protected');
CALL mnemic.protect('state.bench_protected_labels');
GRANT SELECT, INSERT, UPDATE, DELETE ON state.bench_open, state.bench_open_labels TO mnemic_app;
VACUUM ANALYZE state.bench_protected, state.bench_open, state.bench_protected_labels, state.bench_open_labels;
"""

# {table} is one of the two; {mine} is the condition that replaces the policy on the unprotected table.
STATEMENTS: dict[str, LiteralString] = {
    "one row by its key": "SELECT * FROM {table} AS t WHERE id = %(id)s AND {mine}",
    "the newest 20": "SELECT * FROM {table} AS t WHERE {mine} ORDER BY created_at DESC LIMIT 20",
    "insert a row": (
        "INSERT INTO {table} VALUES (%(tenant_id)s, -%(id)s, '', 1, '', now())"
        " ON CONFLICT (tenant_id, id) DO UPDATE SET weight = excluded.weight"
    ),
    "update a row": "UPDATE {table} AS t SET weight = weight WHERE id = %(id)s AND {mine}",
    "count all": "SELECT count(*) FROM {table} AS t WHERE {mine}",
    "aggregate by kind": "SELECT kind, count(*), avg(weight) FROM {table} AS t WHERE {mine} GROUP BY kind",
    "search in the text": "SELECT count(*) FROM {table} AS t WHERE body LIKE '%%abc%%abc%%' AND {mine}",
    "sort everything": "SELECT id FROM {table} AS t WHERE {mine} ORDER BY weight, id OFFSET 49000",
    "join two tables": (
        "SELECT count(*) FROM {table} AS t JOIN {labels} USING (tenant_id, id) WHERE label > '' AND {mine}"
    ),
}


@dataclass(frozen=True)
class Result:
    """Medians of one statement, in milliseconds."""

    name: str
    open_ms: float
    protected_ms: float

    @property
    def added_ms(self) -> float:
        return self.protected_ms - self.open_ms

    @property
    def ratio(self) -> float:
        return self.protected_ms / self.open_ms

    @property
    def holds(self) -> bool:
        return self.ratio <= LIMIT_RATIO if self.open_ms > LONG_MS else self.added_ms <= LIMIT_MS


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=200, help="runs of each short statement (default 200)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    arguments = parser.parse_args()
    with served() as access, built(access) as connection:
        results = [measure(connection, access, name, arguments.rounds) for name in STATEMENTS]
        proving_ms = measure_proving(connection, access, arguments.rounds)
    print(as_json(results, proving_ms) if arguments.json else as_table(results, proving_ms))
    return 0 if all(result.holds for result in results) else 1


@contextmanager
def served() -> Iterator[Access]:
    """A temporary embedded server with a migrated database and the two tables."""
    with tempfile.TemporaryDirectory(prefix="mnemic-bench-") as folder:
        data_dir = Path(folder) / "data"
        with EmbeddedServer.start(data_dir) as server:
            access = asyncio.run(embedded_access(server, LIMITS))
            conninfo = server.conninfo(user=ADMIN_ROLE, dbname=DATABASE_NAME)
            with psycopg.connect(conninfo, autocommit=True) as admin:
                for statement in BUILD.format(rows=ROWS, tenants=TENANTS).split(";\n"):
                    if statement.strip():
                        admin.execute(statement.encode())
            yield access
        stop(data_dir)


@contextmanager
def built(access: Access) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(access.conninfo(), autocommit=True) as connection:
        yield connection


def measure(connection: psycopg.Connection[Any], access: Access, name: str, rounds: int) -> Result:
    """Run a statement on both tables, alternating which is first."""
    tenant_id = begin_transaction(connection, access)
    parameters = {"tenant_id": tenant_id, "id": 4711}
    open_run = timed(connection, compose(name, protected=False), parameters)
    walled_run = timed(connection, compose(name, protected=True), parameters)
    warm_ms = statistics.median([open_run() + walled_run() for _ in range(WARM_UP_ROUNDS)])
    open_ms: list[float] = []
    protected_ms: list[float] = []
    for turn in range(min(rounds, max(FEWEST_ROUNDS, int(LONGEST_S * 1000 / warm_ms)))):
        order = [(open_run, open_ms), (walled_run, protected_ms)]
        for run, times in order if turn % 2 else reversed(order):
            times.append(run())
    connection.execute("ROLLBACK")
    return Result(name, statistics.median(open_ms), statistics.median(protected_ms))


def begin_transaction(connection: psycopg.Connection[Any], access: Access) -> str:
    """Begin a transaction of one of the tenants; returns its id."""
    tenant_id = find_tenant(connection, access)
    moment = begin(connection)
    prove(connection, access, "tenant", tenant_id, moment)
    return tenant_id


def find_tenant(connection: psycopg.Connection[Any], access: Access) -> str:
    moment = begin(connection)
    prove(connection, access, "opening", "bench 2", moment)
    row = connection.execute(query("session.find_tenant"), {"name": "bench 2"}).fetchone()
    connection.execute("COMMIT")
    assert row is not None, "the tenant was created with the tables"
    return str(row[0])


def begin(connection: psycopg.Connection[Any]) -> str:
    cursor = connection.execute(query("session.begin"))
    cursor.nextset()
    row = cursor.fetchone()
    assert row is not None, "mnemic.transaction_identity() returns one row"
    return str(row[0])


def prove(
    connection: psycopg.Connection[Any], access: Access, purpose: Any, subject: str, moment: str
) -> None:
    proof = access.key.proof(purpose, subject, moment=moment)
    connection.execute(query("session.prove"), {"purpose": purpose, "subject": subject, "proof": proof})


def compose(name: str, *, protected: bool) -> sql.Composed:
    table = sql.Identifier("state", "bench_protected" if protected else "bench_open")
    labels = sql.Identifier("state", "bench_protected_labels" if protected else "bench_open_labels")
    mine = sql.SQL("true" if protected else "t.tenant_id = %(tenant_id)s")
    return sql.SQL(STATEMENTS[name]).format(table=table, labels=labels, mine=mine)


def timed(
    connection: psycopg.Connection[Any], statement: sql.Composed, parameters: dict[str, Any]
) -> Callable[[], float]:
    def run() -> float:
        started = time.perf_counter()
        cursor = connection.execute(statement, parameters, prepare=True)
        if cursor.description is not None:
            cursor.fetchall()
        return (time.perf_counter() - started) * 1000

    return run


def measure_proving(connection: psycopg.Connection[Any], access: Access, rounds: int) -> float:
    """The additional time of an empty transaction that proves a tenant."""
    tenant_id = find_tenant(connection, access)
    plain_ms, proven_ms = [], []
    for _ in range(rounds):
        started = time.perf_counter()
        connection.execute("BEGIN")
        connection.execute("COMMIT")
        middle = time.perf_counter()
        prove(connection, access, "tenant", tenant_id, begin(connection))
        connection.execute("COMMIT")
        plain_ms.append((middle - started) * 1000)
        proven_ms.append((time.perf_counter() - middle) * 1000)
    return statistics.median(proven_ms) - statistics.median(plain_ms)


def as_table(results: list[Result], proving_ms: float) -> str:
    lines = [f"{'statement':<20} {'open ms':>9} {'protected ms':>12} {'added ms':>9} {'ratio':>6}  limit"]
    for result in results:
        limit = f"ratio ≤ {LIMIT_RATIO}" if result.open_ms > LONG_MS else f"added ≤ {LIMIT_MS} ms"
        lines.append(
            f"{result.name:<20} {result.open_ms:>9.3f} {result.protected_ms:>12.3f} {result.added_ms:>9.3f}"
            f" {result.ratio:>6.2f}  {limit}{'' if result.holds else '  EXCEEDED'}"
        )
    lines.append(
        f"Proving the tenant adds {proving_ms:.3f} ms to a transaction. "
        f"All are medians, over {ROWS:,} rows of {TENANTS} tenants."
    )
    return "\n".join(lines)


def as_json(results: list[Result], proving_ms: float) -> str:
    rows = [
        asdict(result) | {"added_ms": result.added_ms, "ratio": result.ratio, "holds": result.holds}
        for result in results
    ]
    return json.dumps(
        {"rows": ROWS, "tenants": TENANTS, "proving_ms": proving_ms, "statements": rows}, indent=2
    )


if __name__ == "__main__":
    sys.exit(main())
