"""Forged and damaged backups: a restore copies rows, and never runs what the file says."""

import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from mnemic.backup import archive
from mnemic.backup.dump import back_up, restore_into
from mnemic.config import Settings
from mnemic.db.access import Access
from mnemic.db.embedded import ADMIN_ROLE, EmbeddedServer
from mnemic.errors import ConflictError, DatabaseError, InvalidInputError, MnemicError
from mnemic.sdk.memory import AsyncMemory
from tests.conftest import LIMITS, AppConnection, Databases
from tests.fresh_tenants import contents

# Everything that a database can be made to run when it is restored or used. Each creates a role, which is
# visible in the whole server.
FORGERY = """
    CREATE FUNCTION state.forged_role(role_name text) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
    BEGIN
        IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = role_name) THEN
            EXECUTE pg_catalog.format('CREATE ROLE %I SUPERUSER', role_name);
        END IF;
    END $$;
    CREATE FUNCTION state.forged(given text, role_name text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
    BEGIN
        PERFORM state.forged_role(role_name);
        RETURN given;
    END $$;
    CREATE FUNCTION state.forged_trigger() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        PERFORM state.forged('', '{role}_trigger');
        RETURN NEW;
    END $$;
    CREATE FUNCTION state.forged_event() RETURNS event_trigger LANGUAGE plpgsql AS $$
    BEGIN
        PERFORM state.forged('', '{role}_event');
    END $$;
    CREATE OR REPLACE FUNCTION mnemic.name_key(name text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
    BEGIN
        RETURN state.forged(pg_catalog.lower(name), '{role}_function');
    END $$;
    CREATE INDEX forged ON state.tenants (state.forged(name, '{role}_index'));
    ALTER TABLE state.tenants ADD CONSTRAINT forged CHECK (state.forged(name, '{role}_check') = name);
    ALTER TABLE state.tenants ALTER name SET DEFAULT state.forged('x', '{role}_default');
    CREATE TRIGGER forged AFTER INSERT ON state.memories FOR EACH ROW EXECUTE FUNCTION state.forged_trigger();
    CREATE EVENT TRIGGER forged ON ddl_command_end EXECUTE FUNCTION state.forged_event();
    CREATE POLICY forged ON state.memories USING (state.forged(content, '{role}_policy') = content);
    CREATE RULE forged AS ON INSERT TO state.triples DO ALSO SELECT state.forged('', '{role}_rule');
    CREATE MATERIALIZED VIEW state.forged_view AS SELECT state.forged('', '{role}_view');
"""
OURS = "('mnemic', 'state', 'vectors', 'traces', 'queue')"
CATALOG = """
    SELECT 'function', oid::regprocedure::text, md5(prosrc) FROM pg_proc WHERE pronamespace IN {ours}
    UNION ALL
    SELECT 'index', indexrelid::regclass::text, pg_get_indexdef(indexrelid)
    FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid WHERE relnamespace IN {ours}
    UNION ALL
    SELECT 'constraint', conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace IN {ours}
    UNION ALL
    SELECT 'trigger', tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
    UNION ALL
    SELECT 'event trigger', evtname, '' FROM pg_event_trigger
    UNION ALL
    SELECT 'policy', polname || ' on ' || polrelid::regclass, pg_get_expr(polqual, polrelid) FROM pg_policy
    UNION ALL
    SELECT 'rule', rulename, pg_get_ruledef(oid) FROM pg_rewrite
    WHERE ev_class IN (SELECT oid FROM pg_class WHERE relnamespace IN {ours})
    UNION ALL
    SELECT 'column', attrelid::regclass || '.' || attname, concat_ws(
        ' ', format_type(atttypid, atttypmod), attnotnull, attgenerated, coalesce(attstattarget, -1), attacl
    )
    FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
    WHERE relkind <> 't' AND relnamespace IN {ours} AND attnum > 0
    UNION ALL
    SELECT 'default', adrelid::regclass || '.' || adnum, pg_get_expr(adbin, adrelid) FROM pg_attrdef
    UNION ALL
    SELECT 'relation', pg_class.oid::regclass::text,
        concat(relkind, relrowsecurity, relforcerowsecurity, reloptions, relowner::regrole, relacl)
    FROM pg_class WHERE relkind <> 't' AND relnamespace IN {ours}
    ORDER BY 1, 2, 3
""".format(ours=f"(SELECT oid FROM pg_namespace WHERE nspname IN {OURS})")


@pytest.fixture
def role() -> str:
    """The start of the names of roles that a forged backup tries to create."""
    return f"forged_{uuid4().hex}"


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    return tmp_path / "backup"


@pytest.fixture
async def filled(access: Access, admin_conninfo: str) -> str:
    """The database of the test with some memories; its connection string."""
    async with AsyncMemory(
        url_of(admin_conninfo), owner="alice", embedder="test", settings=Settings(worker=False)
    ) as memory:
        await memory.retain(
            [f"Alice wrote letter {number}." for number in range(300)], conversation="letters"
        )
        await memory.entities.upsert("person", "Alice", facts={"city": "Berlin"})
        await memory.triples.add("Alice", "lives in", "Berlin")
    return admin_conninfo


def url_of(conninfo: str) -> str:
    """The same as a URL."""
    parts = conninfo_to_dict(conninfo)
    return f"postgresql://{parts['user']}@/{parts['dbname']}?host={quote(str(parts['host']), safe='')}"


def read(path: Path) -> bytes:
    return path.read_bytes()


def write(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def created_roles(admin: AppConnection, role: str) -> list[object]:
    found = admin.execute("SELECT rolname FROM pg_roles WHERE starts_with(rolname, %s) ORDER BY 1", [role])
    return [name for (name,) in found.fetchall()]


def catalog(conninfo: str) -> list[tuple[object, ...]]:
    """All that the schemas of Mnemic consist of."""
    with psycopg.connect(conninfo) as connection:
        return connection.execute(CATALOG).fetchall()


def is_empty(conninfo: str) -> bool:
    with psycopg.connect(conninfo) as connection:
        return connection.execute(f"SELECT FROM pg_namespace WHERE nspname IN {OURS}").fetchall() == []


async def test_objects_in_a_backup_are_neither_run_nor_restored(
    filled: str, empty_conninfo: str, admin: AppConnection, backup: Path, role: str
) -> None:
    before = catalog(filled)
    admin.execute(FORGERY.replace("{role}", role).encode())
    admin.execute("ALTER EVENT TRIGGER forged DISABLE")
    for name in created_roles(admin, role):
        admin.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(str(name))))
    admin.execute("ALTER EVENT TRIGGER forged ENABLE")
    await back_up(filled, backup)
    await restore_into(empty_conninfo, backup, LIMITS)
    async with AsyncMemory(url_of(empty_conninfo), owner="alice", embedder="test") as memory:
        await memory.retain("Alice wrote another letter.")
        await memory.entities.upsert("person", "Bob")
        assert len(await memory.memories.list(limit=1000)) == 301
    assert created_roles(admin, role) == []
    assert catalog(empty_conninfo) == before


async def test_a_statement_in_place_of_the_copying_one_is_not_run(
    filled: str, empty_conninfo: str, admin: AppConnection, backup: Path, role: str, subtests: pytest.Subtests
) -> None:
    await back_up(filled, backup)
    whole = unsealed(read(backup))
    forgeries = {
        "before it": f"CREATE ROLE {role} SUPERUSER; COPY state.memories FROM stdin;\n",
        "on a line of its own": f"CREATE ROLE {role} SUPERUSER;\nCOPY state.memories FROM stdin;\n",
        "in a comment": f"/*\n*/ CREATE ROLE {role} SUPERUSER; COPY state.memories FROM stdin;\n",
        "into another table": "COPY pg_catalog.pg_authid (rolname) FROM stdin;\n",
        "into a column that does not exist": "COPY state.memories (tenant_id, nothing) FROM stdin;\n",
        "from a program": "COPY state.memories FROM PROGRAM 'cat /etc/passwd';\n",
        "after the rows began": f"COPY state.memories (tenant_id) FROM stdin;\n\\.\nCREATE ROLE {role};\n",
        "with a subselect": "COPY (SELECT 1) TO '/tmp/forged';\n",
    }
    for how, statement in forgeries.items():
        with subtests.test(how):
            write(backup, with_statement(whole, statement))
            with pytest.raises((InvalidInputError, DatabaseError)):
                await restore_into(empty_conninfo, backup, LIMITS)
            assert created_roles(admin, role) == []
            assert is_empty(empty_conninfo)


def unsealed(whole: bytes) -> bytes:
    """Without its checksum, as a file of an earlier version, or of somebody who made a new one."""
    return whole[: whole.rfind(b'\n{"format"')] if b'\n{"format"' in whole[-512:] else whole


def with_statement(whole: bytes, statement: str) -> bytes:
    """The statement that copies memories, replaced by one of the same length."""
    found = re.search(rb"COPY state\.memories \([^)]*\) FROM stdin;\n", whole)
    assert found is not None
    room = len(found[0]) - len(statement)
    assert room >= 0, "the statement fits"
    padded = statement.replace(";", " " * room + ";", 1)
    return whole.replace(found[0], padded.encode())


async def test_rows_that_break_a_rule_are_refused(
    filled: str,
    database_name: str,
    databases: Databases,
    server: EmbeddedServer,
    empty_conninfo: str,
    backup: Path,
    subtests: pytest.Subtests,
) -> None:
    """The rules of our own schema, which the forged database has dropped."""
    forgeries = {
        "a row of a tenant that does not exist": """
            ALTER TABLE state.triples DROP CONSTRAINT triples_tenant_id_fkey;
            UPDATE state.triples SET tenant_id = gen_random_uuid()""",
        "a text that is too long": """
            ALTER TABLE state.memories DROP CONSTRAINT memories_content_check;
            ALTER TABLE state.memories DISABLE TRIGGER USER;
            UPDATE state.memories SET content = repeat('x', 9000) WHERE "position" = 3""",
        "two rows with one key": """
            ALTER TABLE state.recall_counts DROP CONSTRAINT recall_counts_pkey CASCADE;
            INSERT INTO state.recall_counts SELECT tenant_id, memory_id, 1 FROM state.memories;
            INSERT INTO state.recall_counts SELECT tenant_id, memory_id, 2 FROM state.memories""",
        "a table of vectors under another name": """
            ALTER TABLE MODEL RENAME TO forged;
            UPDATE mnemic.vector_models SET table_name = 'forged'""",
        "vectors of another length": """
            ALTER TABLE MODEL ALTER embedding TYPE halfvec;
            UPDATE MODEL SET embedding = '[1,2,3]'""",
        "a table more": "CREATE TABLE state.forged (x int); INSERT INTO state.forged VALUES (1)",
        "a table less": "DROP TABLE state.triples CASCADE",
        "a migration of the future": """
            INSERT INTO mnemic.migrations (set_name, number, title, checksum)
            VALUES ('mnemic', 9999, 'later', '')""",
        "a migration that was edited": "UPDATE mnemic.migrations SET checksum = 'forged' WHERE number = 3",
        "an extension that is not installed": """
            INSERT INTO mnemic.migrations (set_name, number, title, checksum)
            VALUES ('billing', 1, 'bills', '')""",
        "no migrations": "DELETE FROM mnemic.migrations",
        "a number that is none": """
            ALTER TABLE mnemic.migrations DROP CONSTRAINT migrations_number_check;
            ALTER TABLE mnemic.migrations ALTER number TYPE text;
            UPDATE mnemic.migrations SET number = 'one' WHERE number = '1'""",
    }
    for how, forgery in forgeries.items():
        forged = databases.make(template=database_name)
        conninfo = server.conninfo(user=ADMIN_ROLE, dbname=forged)
        with subtests.test(how):
            with psycopg.connect(conninfo, autocommit=True) as connection:
                connection.execute(forgery.replace("MODEL", vector_table(connection)).encode())
            await back_up(conninfo, backup, replace=True)
            with pytest.raises(MnemicError) as caught:
                await restore_into(empty_conninfo, backup, LIMITS)
            assert str(backup) in str(caught.value)
            assert is_empty(empty_conninfo)
        databases.give_back(forged)


def vector_table(connection: AppConnection) -> str:
    """The table of the one embedding model."""
    ((name,),) = connection.execute("SELECT table_name FROM mnemic.vector_models").fetchall()
    return f"vectors.{name}"


async def test_a_damaged_file_is_refused_and_changes_nothing(
    filled: str, empty_conninfo: str, backup: Path, subtests: pytest.Subtests
) -> None:
    await back_up(filled, backup)
    whole = read(backup)
    end = len(unsealed(whole))
    damage: dict[str, Callable[[], bytes]] = {
        f"a flipped bit at {share:.0%}": lambda share=share: flipped(whole, int(end * share))  # type: ignore[misc]
        for share in (0.0001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.999)
    }
    damage |= {
        f"cut off at {share:.0%}": lambda share=share: whole[: int(end * share)]  # type: ignore[misc]
        for share in (0.0001, 0.001, 0.1, 0.5, 0.9, 0.99)
    }
    damage |= {
        "a flipped bit in the checksum": lambda: flipped(whole, end + 80),
        "more bytes before the checksum": lambda: whole[:end] + b"\0" + whole[end:],
        "without a part in the middle": lambda: whole[: end // 2] + whole[end // 2 + 4096 :],
        "zeros in the middle": lambda: whole[: end // 2] + bytes(4096) + whole[end // 2 + 4096 :],
        "two files in one": lambda: whole + whole,
    }
    for how, damaged in damage.items():
        with subtests.test(how):
            write(backup, damaged())
            with pytest.raises((InvalidInputError, DatabaseError)):
                await restore_into(empty_conninfo, backup, LIMITS)
            assert is_empty(empty_conninfo)
    write(backup, whole)
    await restore_into(empty_conninfo, backup, LIMITS)


def flipped(whole: bytes, position: int) -> bytes:
    return whole[:position] + bytes([whole[position] ^ 1]) + whole[position + 1 :]


async def test_a_small_file_that_unpacks_to_much_is_refused(
    filled: str, empty_conninfo: str, backup: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "UNPACKED_ALWAYS_ALLOWED_BYTES", 1 << 20)
    monkeypatch.setattr(archive, "UNPACKED_RATIO_MAX", 50)
    with psycopg.connect(filled, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO state.state_documents (tenant_id, owner, key, document, process)"
            " SELECT tenant_id, 'a', 'bomb', to_jsonb(repeat('x', 100000000)), 'forged' FROM state.tenants"
        )
    await back_up(filled, backup)
    assert len(read(backup)) < 2 << 20
    with pytest.raises(InvalidInputError, match="unpacks to far more"):
        await restore_into(empty_conninfo, backup, LIMITS)
    assert is_empty(empty_conninfo)


async def test_the_database_in_use_stays_while_a_forged_backup_fails(
    filled: str, backup: Path, memory_dir: Path
) -> None:
    await back_up(filled, backup)
    write(backup, with_statement(unsealed(read(backup)), "DROP SCHEMA state CASCADE;\n"))
    settings = Settings(data_dir=memory_dir / f"in use {uuid4()}", worker=False)
    async with AsyncMemory(settings=settings, owner="bob", embedder="test") as memory:
        await memory.retain("Still here.")
        for replace, error in ((False, ConflictError), (True, InvalidInputError)):
            with pytest.raises(error):
                await memory.admin.restore(backup, replace=replace)
        assert contents(await memory.memories.list()) == ["Still here."]
