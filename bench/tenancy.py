"""What the tenants' wall costs: the same statements with and without it, in turn, in one run.

Two tables hold the same 200,000 rows. One is behind row-level security with the signed check; on the
other the application's login sees everything, and each statement says `WHERE tenant_id = …` itself.
Only the statement is measured, inside a transaction whose tenant is proven; what proving costs per
transaction is shown apart.

    python bench/tenancy.py [--rounds N] [--json]

Ends with status 1 if a limit is broken: at most 0.2 ms more per statement, at most 15 % more for
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

LONG_MS = 5.0
LIMIT_MS = 0.2
LIMIT_RATIO = 1.15

BUILD = """
INSERT INTO state.tenants (name) SELECT 'bench ' || number FROM generate_series(1, {tenants}) AS number;
CREATE TABLE state.bench_walled (
    tenant_id uuid NOT NULL,
    id int NOT NULL,
    kind text NOT NULL,
    weight real NOT NULL,
    body text NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
INSERT INTO state.bench_walled
SELECT tenant_id, number, 'kind ' || number % 7, number % 1000, repeat(md5(number::text), 6),
    timestamptz '2026-01-01' + number * interval '1 minute'
FROM generate_series(1, {rows} / {tenants}) AS number, state.tenants WHERE name LIKE 'bench %'
ORDER BY number, name;
CREATE INDEX ON state.bench_walled (tenant_id, created_at);
CREATE TABLE state.bench_open (LIKE state.bench_walled INCLUDING ALL);
INSERT INTO state.bench_open SELECT * FROM state.bench_walled;
CALL mnemic.protect('state.bench_walled');
GRANT SELECT, INSERT, UPDATE, DELETE ON state.bench_open TO mnemic_app;
VACUUM ANALYZE state.bench_walled, state.bench_open;
"""

# {table} is one of the two; {mine} is what the statement must say itself where there is no wall.
STATEMENTS: dict[str, LiteralString] = {
    "one row by its key": "SELECT * FROM {table} WHERE id = %(id)s AND {mine}",
    "the newest 20": "SELECT * FROM {table} WHERE {mine} ORDER BY created_at DESC LIMIT 20",
    "insert a row": (
        "INSERT INTO {table} VALUES (%(tenant_id)s, -%(id)s, '', 1, '', now())"
        " ON CONFLICT (tenant_id, id) DO UPDATE SET weight = excluded.weight"
    ),
    "update a row": "UPDATE {table} SET weight = weight WHERE id = %(id)s AND {mine}",
    "count all": "SELECT count(*) FROM {table} WHERE {mine}",
    "sum up by kind": "SELECT kind, count(*), avg(weight) FROM {table} WHERE {mine} GROUP BY kind",
    "search in the text": "SELECT count(*) FROM {table} WHERE body LIKE '%%abc%%abc%%' AND {mine}",
    "sort everything": "SELECT id FROM {table} WHERE {mine} ORDER BY weight, id OFFSET 49000",
    "join with itself": (
        "SELECT count(*) FROM {table} AS one JOIN {table} AS other USING (tenant_id, id)"
        " WHERE one.weight < 500 AND one.{mine}"
    ),
}


@dataclass(frozen=True)
class Result:
    """Medians of one statement, in milliseconds."""

    name: str
    open_ms: float
    walled_ms: float

    @property
    def added_ms(self) -> float:
        return self.walled_ms - self.open_ms

    @property
    def ratio(self) -> float:
        return self.walled_ms / self.open_ms

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
    """An embedded server with a migrated database and the two tables in it, gone afterwards."""
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
    with psycopg.connect(access.conninfo(), autocommit=True, prepare_threshold=0) as connection:
        yield connection


def measure(connection: psycopg.Connection[Any], access: Access, name: str, rounds: int) -> Result:
    """Run a statement over both tables in turn, each time the other one first."""
    tenant_id = begin_proven(connection, access)
    parameters = {"tenant_id": tenant_id, "id": 4711}
    walled = compose(name, table="bench_walled", mine="true")
    unwalled = compose(name, table="bench_open", mine="tenant_id = %(tenant_id)s")
    run_walled = timed(connection, walled, parameters)
    run_open = timed(connection, unwalled, parameters)
    first = [run_open() for _ in range(5)] and [run_walled() for _ in range(5)]
    # Long statements need fewer runs.
    times = [(run_open(), run_walled()) if turn % 2 else (run_walled(), run_open())[::-1]
             for turn in range(max(20, min(rounds, int(2_000 / statistics.median(first)))))]  # fmt: skip
    connection.execute("ROLLBACK")
    open_ms, walled_ms = (statistics.median(column) for column in zip(*times, strict=True))
    return Result(name, open_ms, walled_ms)


def begin_proven(connection: psycopg.Connection[Any], access: Access) -> str:
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
    assert row is not None, "the tenant was made with the tables"
    return str(row[0])


def begin(connection: psycopg.Connection[Any]) -> str:
    cursor = connection.execute(query("session.begin"))
    cursor.nextset()
    row = cursor.fetchone()
    assert row is not None, "mnemic.moment() returns one row"
    return str(row[0])


def prove(connection: psycopg.Connection[Any], access: Access, purpose: Any, subject: str, moment: str) -> None:
    proof = access.key.proof(purpose, subject, moment=moment)
    connection.execute(query("session.prove"), {"purpose": purpose, "subject": subject, "proof": proof})


def compose(name: str, *, table: LiteralString, mine: LiteralString) -> sql.Composed:
    # In the join, the condition stands behind an alias.
    text = STATEMENTS[name].replace("one.{mine}", "{mine}" if mine == "true" else "one.{mine}")
    return sql.SQL(text).format(table=sql.SQL("state.") + sql.SQL(table), mine=sql.SQL(mine))


def timed(
    connection: psycopg.Connection[Any], statement: sql.Composed, parameters: dict[str, Any]
) -> Callable[[], float]:
    def run() -> float:
        started = time.perf_counter()
        cursor = connection.execute(statement, parameters)
        if cursor.description is not None:
            cursor.fetchall()
        return (time.perf_counter() - started) * 1000

    return run


def measure_proving(connection: psycopg.Connection[Any], access: Access, rounds: int) -> float:
    """How much longer an empty transaction takes when it proves a tenant."""
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
    lines = [f"{'statement':<20} {'open ms':>9} {'walled ms':>10} {'added ms':>9} {'ratio':>6}  limit"]
    for result in results:
        limit = f"ratio ≤ {LIMIT_RATIO}" if result.open_ms > LONG_MS else f"added ≤ {LIMIT_MS} ms"
        lines.append(
            f"{result.name:<20} {result.open_ms:>9.3f} {result.walled_ms:>10.3f} {result.added_ms:>9.3f}"
            f" {result.ratio:>6.2f}  {limit}{'' if result.holds else '  BROKEN'}"
        )
    lines.append(f"Proving the tenant adds {proving_ms:.3f} ms to a transaction. Medians; {ROWS:,} rows, {TENANTS} tenants.")
    return "\n".join(lines)


def as_json(results: list[Result], proving_ms: float) -> str:
    rows = [
        asdict(result) | {"added_ms": result.added_ms, "ratio": result.ratio, "holds": result.holds}
        for result in results
    ]
    return json.dumps({"rows": ROWS, "tenants": TENANTS, "proving_ms": proving_ms, "statements": rows}, indent=2)


if __name__ == "__main__":
    sys.exit(main())
