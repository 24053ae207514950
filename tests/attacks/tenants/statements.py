"""SQL attacks of tenant A against tenant B.

An attack names the weakness (see `tests.attacks.tenants.target`) with which it must succeed.
"""

import psycopg

from mnemic.sql import query
from tests.attacks.tenants.target import FIRST_MODEL, MARKER, SECRET, Attacker, query_as_b
from tests.proofs import begin, begin_as

SEE_ALL = "SELECT * FROM state.attack_probe"

# Statements that A may run and that must show nothing of B and change nothing of B's.
# {a} and {b} are the tenants' ids, {b_row} is the id of a row of B: A may well know them.
HARMLESS: dict[str, tuple[str, ...]] = {
    "policy off": (
        # Reading.
        SEE_ALL,
        "TABLE state.tenants",
        "SELECT secret FROM state.attack_probe WHERE tenant_id = '{b}'",
        "SELECT secret FROM state.attack_probe WHERE id = '{b_row}'",
        "SELECT string_agg(secret, ',') FROM state.attack_probe",
        "SELECT max(secret), min(secret), array_agg(DISTINCT secret) FROM state.attack_probe",
        "SELECT a.secret, b.secret FROM state.attack_probe AS a JOIN state.attack_probe AS b ON true",
        "SELECT (SELECT secret FROM state.attack_probe WHERE id = '{b_row}')",
        "SELECT first_value(secret) OVER (ORDER BY secret DESC) FROM state.attack_probe",
        "WITH RECURSIVE all_of AS (SELECT secret FROM state.attack_probe) SELECT * FROM all_of",
        "SELECT found.* FROM state.tenants, LATERAL (SELECT secret FROM state.attack_probe) AS found",
        "SELECT secret FROM state.attack_probe TABLESAMPLE SYSTEM (100)",
        "SELECT secret FROM state.attack_probe"
        " WHERE ctid = ANY (ARRAY(SELECT format('(%s,%s)', page, line)::tid"
        " FROM generate_series(0, 9) AS page, generate_series(1, 99) AS line))",
        "SELECT row_to_json(attack_probe) FROM state.attack_probe",
        "SELECT secret FROM state.attack_probe FOR UPDATE",
        "SELECT secret FROM ONLY state.attack_probe UNION ALL SELECT name FROM state.tenants",
        "SELECT content FROM state.memories",
        # Row security and roles, as far as A may set them.
        f"SET row_security = off; {SEE_ALL}",
        f"RESET ROLE; {SEE_ALL}",
        f"SET ROLE none; {SEE_ALL}",
        f"SET ROLE mnemic_app; {SEE_ALL}",
        f"SET SESSION AUTHORIZATION DEFAULT; {SEE_ALL}",
        f"RESET ALL; {SEE_ALL}",
        f"DISCARD TEMP; {SEE_ALL}",
        f"COMMIT; {SEE_ALL}",
        f"ROLLBACK; BEGIN; {SEE_ALL}",
        f"SAVEPOINT one; {SEE_ALL}; ROLLBACK TO one; {SEE_ALL}",
        # Functions that run a query they are given.
        "SELECT * FROM ts_stat($$SELECT to_tsvector('simple', secret) FROM state.attack_probe$$)",
        f"DO $$ DECLARE r record; BEGIN FOR r IN {SEE_ALL} LOOP RAISE NOTICE '%', r; END LOOP; END $$",
        f"DO $$ BEGIN EXECUTE 'CREATE TEMP TABLE copied AS {SEE_ALL}'; END $$; TABLE pg_temp.copied",
        # Functions, views, triggers and tables of one's own.
        "CREATE FUNCTION pg_temp.spy() RETURNS SETOF text LANGUAGE sql SECURITY DEFINER"
        " AS 'SELECT secret FROM state.attack_probe'; SELECT pg_temp.spy()",
        "CREATE FUNCTION pg_temp.spy() RETURNS SETOF text LANGUAGE sql SET row_security = off"
        " AS 'SELECT secret FROM state.attack_probe'; SELECT pg_temp.spy()",
        f"CREATE TEMP VIEW spy AS {SEE_ALL}; SELECT * FROM pg_temp.spy",
        f"CREATE TEMP VIEW spy WITH (security_barrier, security_invoker) AS {SEE_ALL}; TABLE pg_temp.spy",
        f"CREATE TEMP TABLE copied AS {SEE_ALL}; SELECT * FROM pg_temp.copied",
        "SELECT * INTO TEMP copied FROM state.attack_probe; SELECT * FROM pg_temp.copied",
        "CREATE TEMP TABLE mine (id int); CREATE FUNCTION pg_temp.spy() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN RAISE NOTICE '%', (SELECT string_agg(secret, ',') FROM state.attack_probe);"
        " RETURN NEW; END $$;"
        " CREATE TRIGGER spy BEFORE INSERT ON pg_temp.mine FOR EACH ROW EXECUTE FUNCTION pg_temp.spy();"
        " INSERT INTO pg_temp.mine VALUES (1)",
        "CREATE TEMP TABLE mine (id int); CREATE RULE spy AS ON INSERT TO pg_temp.mine DO INSTEAD"
        " SELECT secret FROM state.attack_probe; INSERT INTO pg_temp.mine VALUES (1)",
        # A function in the WHERE clause that raises its arguments as notices; a cheap one runs first.
        "CREATE FUNCTION pg_temp.tell(text) RETURNS boolean LANGUAGE plpgsql COST 0.0000001 AS"
        " $$ BEGIN RAISE NOTICE '%', $1; RETURN true; END $$;"
        " SELECT FROM state.attack_probe WHERE pg_temp.tell(secret)",
        "CREATE FUNCTION pg_temp.tell(text) RETURNS boolean LANGUAGE plpgsql COST 0.0000001 AS"
        " $$ BEGIN RAISE NOTICE '%', $1; RETURN true; END $$;"
        " UPDATE state.attack_probe SET code = code WHERE pg_temp.tell(secret)",
        "CREATE FUNCTION pg_temp.tell(text, text) RETURNS boolean LANGUAGE plpgsql AS"
        " $$ BEGIN RAISE NOTICE '%', $1; RETURN true; END $$;"
        " CREATE OPERATOR pg_temp.<<<< (FUNCTION = pg_temp.tell, LEFTARG = text, RIGHTARG = text);"
        " SELECT FROM state.attack_probe WHERE secret OPERATOR(pg_temp.<<<<) ''",
        # Errors that quote values.
        "SELECT FROM state.attack_probe WHERE CASE WHEN secret LIKE 'alpha%' THEN 1 ELSE secret::int END = 1",
        "SELECT CASE WHEN secret LIKE 'alpha%' THEN 1 ELSE secret::int END FROM state.attack_probe",
        # Plans.
        f"SET enable_indexscan = off; SET enable_bitmapscan = off; {SEE_ALL}",
        f"SET enable_seqscan = off; {SEE_ALL} ORDER BY tenant_id, id",
        f"SET debug_parallel_query = on; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;"
        f" SET min_parallel_table_scan_size = 0; {SEE_ALL}",
        f"SET plan_cache_mode = force_generic_plan; PREPARE spy AS {SEE_ALL}; EXECUTE spy; DEALLOCATE spy",
        # Cursors.
        f"DECLARE spy CURSOR FOR {SEE_ALL}; FETCH ALL FROM spy",
        f"DECLARE spy SCROLL CURSOR WITH HOLD FOR {SEE_ALL}; COMMIT;"
        " FETCH BACKWARD ALL FROM spy; FETCH ALL FROM spy",
        # Writing.
        "INSERT INTO state.attack_probe (tenant_id, code, secret) VALUES ('{b}', 'forged', 'forged')",
        "INSERT INTO state.attack_probe (tenant_id, code, secret) VALUES ('{b}', 'forged', 'forged')"
        " RETURNING *",
        "INSERT INTO state.attack_probe VALUES ('{b}', '{b_row}', 'forged', 'forged')"
        " ON CONFLICT (tenant_id, id) DO UPDATE SET secret = 'forged' RETURNING attack_probe.*",
        "INSERT INTO state.attack_child (tenant_id, probe_id) VALUES ('{b}', '{b_row}')",
        "UPDATE state.attack_probe SET secret = 'forged'",
        "UPDATE state.attack_probe SET secret = 'forged' WHERE id = '{b_row}' RETURNING *",
        "UPDATE state.attack_probe SET tenant_id = '{b}'",
        "UPDATE state.attack_probe SET tenant_id = '{a}' WHERE tenant_id = '{b}' RETURNING *",
        "UPDATE state.attack_probe AS mine SET secret = theirs.secret FROM state.attack_probe AS theirs"
        " WHERE theirs.id = '{b_row}' RETURNING mine.*",
        "DELETE FROM state.attack_probe",
        "DELETE FROM state.attack_probe WHERE id = '{b_row}' RETURNING *",
        "DELETE FROM state.attack_probe AS mine USING state.attack_probe AS theirs"
        " WHERE theirs.tenant_id = '{b}'",
        "MERGE INTO state.attack_probe AS old USING (VALUES ('{b_row}'::uuid)) AS new (id) ON old.id = new.id"
        " WHEN MATCHED THEN UPDATE SET secret = 'forged'",
        "MERGE INTO state.attack_probe AS old USING (VALUES (1)) AS new (id) ON true"
        " WHEN MATCHED THEN DELETE",
        "MERGE INTO state.attack_probe AS old USING (VALUES ('{b}'::uuid)) AS new (id) ON false"
        " WHEN NOT MATCHED THEN INSERT (tenant_id, code, secret) VALUES (new.id, 'forged', 'forged')",
        "CREATE TEMP VIEW door AS SELECT * FROM state.attack_probe; DELETE FROM pg_temp.door",
        # Columns that recall reads, and word counts, which come from a query over all memories.
        "SELECT string_agg(words::text, ',') FROM state.memories",
        "SELECT mnemic.refresh_statistics('somebody'); TABLE vectors.word_statistics",
    ),
    "policies of the role": ("DROP OWNED BY mnemic_app", "DROP OWNED BY CURRENT_USER, mnemic_app CASCADE"),
    "superuser": (
        f"SELECT * FROM pg_stats; {SEE_ALL}",
        f"SELECT * FROM pg_stat_activity; {SEE_ALL}",
        "INSERT INTO state.tenants (tenant_id, name) VALUES ('{b}', 'forged')"
        " ON CONFLICT (tenant_id) DO UPDATE SET created_at = now() RETURNING tenants.*",
        "CREATE FUNCTION pg_temp.spy() RETURNS SETOF text LANGUAGE sql SET mnemic.tenant = '{b}'"
        " AS 'SELECT secret FROM state.attack_probe'; SELECT pg_temp.spy()",
    ),
    "settings are trusted": (
        f"SET mnemic.tenant = '{{b}}'; {SEE_ALL}",
        f"SET LOCAL mnemic.tenant = '{{b}}'; {SEE_ALL}",
        f"SELECT set_config('mnemic.tenant', '{{b}}', true); {SEE_ALL}",
        f"SET mnemic.tenant = '{{b}}'; SET mnemic.tenant_proof = ''; {SEE_ALL}",
        f"SET mnemic.tenant = '{{b}}'; RESET mnemic.tenant_proof; {SEE_ALL}",
        f"SET mnemic.tenant = '{{b}}'; SET mnemic.tenant_proof = '{'0' * 64}'; {SEE_ALL}",
        "SET mnemic.tenant = '{b}'; SELECT set_config('mnemic.tenant_proof',"
        f" upper(current_setting('mnemic.tenant_proof')), true); {SEE_ALL}",
        f"COMMIT; SET mnemic.tenant = '{{b}}'; {SEE_ALL}",
        "SET mnemic.tenant = '{b}'; DELETE FROM state.attack_probe",
        "SET mnemic.tenant = '{b}';"
        " INSERT INTO state.attack_child (tenant_id, probe_id) VALUES ('{b}', '{b_row}')",
        "SET mnemic.tenant = '{b}';"
        " SELECT * FROM mnemic.memories_with_phrases('somebody', ARRAY['secret'], 10, 10)",
        "SET mnemic.tenant = '{b}'; SET mnemic.maintenance = '{b}';"
        " SELECT * FROM mnemic.erase_owner('somebody')",
        "WITH set AS MATERIALIZED (SELECT set_config('mnemic.tenant', '{b}', true))"
        " SELECT secret FROM set, state.attack_probe",
    ),
    "a schema of one's own and no pinned search path": (
        # Functions that shadow those that check the proof.
        "CREATE FUNCTION planted.sha256(bytea) RETURNS bytea LANGUAGE sql IMMUTABLE RETURN '\\x00'::bytea;"
        f" SET search_path = planted, pg_catalog; SET mnemic.tenant = '{{b}}'; {SEE_ALL}",
    ),
}

# Statements that only an administrator may run.
REFUSED: dict[str, tuple[str, ...]] = {
    "superuser": (
        "TRUNCATE state.attack_probe CASCADE",
        "SET ROLE mnemic",
        "SET ROLE mnemic_definer",
        "SET ROLE pg_read_all_data",
        "SET SESSION AUTHORIZATION mnemic",
        "SET SESSION AUTHORIZATION mnemic_definer",
        "SET session_replication_role = replica",
        "GRANT mnemic_definer TO SESSION_USER",
        "GRANT pg_read_all_data TO SESSION_USER",
        "CREATE ROLE planted SUPERUSER",
        "ALTER ROLE SESSION_USER BYPASSRLS",
        "ALTER ROLE mnemic_app SET row_security = off",
        "ALTER ROLE mnemic_definer LOGIN",
        "ALTER TABLE state.attack_probe DISABLE ROW LEVEL SECURITY",
        "ALTER TABLE state.attack_probe NO FORCE ROW LEVEL SECURITY",
        "ALTER TABLE state.attack_probe OWNER TO mnemic_app",
        "ALTER TABLE state.attack_probe ADD planted int",
        "ALTER TABLE state.attack_probe ALTER secret SET STATISTICS 100",
        "DROP POLICY same_tenant ON state.attack_probe",
        "ALTER POLICY same_tenant ON state.attack_probe USING (true)",
        "CREATE POLICY planted ON state.attack_probe USING (true)",
        "DROP TABLE state.attack_probe CASCADE",
        "CREATE INDEX ON state.attack_probe (lower(secret))",
        "CREATE STATISTICS state.planted ON code, secret FROM state.attack_probe",
        "CREATE TRIGGER planted BEFORE UPDATE ON state.attack_probe FOR EACH ROW"
        " EXECUTE FUNCTION suppress_redundant_updates_trigger()",
        "CREATE RULE planted AS ON DELETE TO state.attack_probe DO INSTEAD NOTHING",
        "CREATE TABLE state.planted ()",
        "CREATE TABLE public.planted ()",
        "CREATE TABLE mnemic.planted ()",
        "CREATE SCHEMA planted",
        "CREATE VIEW state.planted AS SELECT 1",
        "CREATE MATERIALIZED VIEW state.planted AS SELECT * FROM state.attack_probe",
        "CREATE TABLE state.planted (tenant_id uuid, id uuid,"
        " FOREIGN KEY (tenant_id, id) REFERENCES state.attack_probe)",
        "CREATE FUNCTION public.planted() RETURNS int RETURN 1",
        "CREATE OR REPLACE FUNCTION mnemic.transaction_identity() RETURNS text"
        " LANGUAGE sql STABLE RETURN 'always'",
        "CREATE OR REPLACE FUNCTION mnemic.current_tenant() RETURNS uuid LANGUAGE sql RETURN '{b}'::uuid",
        "ALTER FUNCTION mnemic.verified_claim SECURITY INVOKER",
        "ALTER FUNCTION mnemic.current_tenant RENAME TO planted",
        "CREATE FUNCTION pg_temp.planted(text) RETURNS boolean LANGUAGE sql LEAKPROOF RETURN true",
        "CREATE FUNCTION pg_temp.planted() RETURNS language_handler LANGUAGE c"
        " AS '$libdir/plpgsql', 'plpgsql_call_handler'",
        "CREATE TEMP TABLE mine (tenant_id uuid); CALL mnemic.protect('pg_temp.mine')",
        "CALL mnemic.run_as_definer('mnemic.new_id()')",
        "CALL mnemic.make_login('planted', 'planted')",
        "UPDATE mnemic.migrations SET checksum = ''",
        "INSERT INTO mnemic.migrations VALUES ('planted', 1, 'planted', '')",
        "DELETE FROM mnemic.signing_key",
        "UPDATE mnemic.signing_key SET key = key",
        "SELECT * FROM pg_statistic",
        "SELECT * FROM pg_authid",
        "SELECT * FROM pg_shadow",
        "SELECT * FROM pg_user_mapping",
        "SELECT pg_read_file('PG_VERSION')",
        "SELECT pg_read_binary_file(pg_relation_filepath('state.attack_probe'))",
        "SELECT pg_ls_dir('.')",
        "SELECT pg_stat_file('PG_VERSION')",
        "SELECT lo_import('/etc/passwd')",
        "COPY (SELECT 1) TO '/dev/null'",
        "COPY (SELECT 1) TO PROGRAM 'cat > /dev/null'",
        "CREATE TEMP TABLE got (line text); COPY pg_temp.got FROM '/etc/passwd'",
        "CREATE TEMP TABLE got (line text); COPY pg_temp.got FROM PROGRAM 'echo planted'",
        "CREATE EXTENSION postgres_fdw",
        "CREATE EXTENSION file_fdw",
        "CREATE EXTENSION pageinspect",
        "CREATE EXTENSION hstore",
        "CREATE FOREIGN DATA WRAPPER planted",
        "CREATE PUBLICATION planted FOR ALL TABLES",
        "LOAD 'auto_explain'",
        "SET log_statement = 'all'",
        "SET session_preload_libraries = 'auto_explain'",
        "SELECT current_setting('data_directory')",
        "SELECT pg_reload_conf()",
        "SELECT pg_log_backend_memory_contexts(pg_backend_pid())",
        "SELECT pg_create_restore_point('planted')",
        "ALTER DATABASE postgres SET row_security = off",
        "COMMENT ON TABLE state.attack_probe IS 'planted'",
        "LOCK TABLE mnemic.signing_key",
    ),
    # Erasing and importing need a proof of their own.
    "settings are trusted": (
        "SET mnemic.maintenance = '{a}'; SELECT * FROM mnemic.erase_owner('nobody')",
        "SET mnemic.maintenance = '{a}'; SELECT mnemic.import_rows('state.memories', 'somebody', '[]')",
        "COMMIT; BEGIN; SET mnemic.tenant = '{b}'; SET mnemic.maintenance = '{b}';"
        " SELECT * FROM mnemic.erase_owner('nobody')",
    ),
    "readable key": (
        "SELECT key FROM mnemic.signing_key",
        "SELECT inner_block, outer_block FROM mnemic.signing_key",
        "SELECT count(*) FROM mnemic.signing_key",
        "CREATE TEMP VIEW spy AS SELECT * FROM mnemic.signing_key; TABLE pg_temp.spy",
        "CREATE FUNCTION pg_temp.spy() RETURNS bytea LANGUAGE sql SECURITY DEFINER"
        " AS 'SELECT key FROM mnemic.signing_key'; SELECT pg_temp.spy()",
        "EXPLAIN ANALYZE SELECT key FROM mnemic.signing_key",
    ),
}


def copy_out(attacker: Attacker) -> None:
    for source in ("state.attack_probe", "(SELECT secret FROM state.attack_probe)", "state.tenants"):
        statement = f"COPY {source} TO STDOUT".encode()
        with attacker.connection.cursor() as cursor, cursor.copy(statement) as copy:
            attacker.seen += [bytes(data).decode() for data in copy]


def copy_in(attacker: Attacker) -> None:
    statement = "COPY state.attack_probe (tenant_id, code, secret) FROM STDIN"
    try:
        with attacker.connection.cursor() as cursor, cursor.copy(statement) as copy:
            copy.write_row((attacker.target.b.id, "forged", "forged"))
    except psycopg.Error as error:
        attacker.seen.append(str(error))


def read_every_table(attacker: Attacker) -> None:
    tables = attacker.run(
        "SELECT oid::regclass::text FROM pg_class WHERE relkind IN ('r', 'p')"
        " AND relnamespace::regnamespace::text IN ('state', 'vectors', 'traces', 'queue')"
    )
    for (table,) in tables or []:
        attacker.must_find_nothing(f"SELECT * FROM {table} WHERE tenant_id <> '{{a}}'")


def guess_the_name_of_a_tenant(attacker: Attacker) -> None:
    name = attacker.target.b.name
    for ending in ("", " ON CONFLICT DO NOTHING", " ON CONFLICT (name) DO NOTHING", " RETURNING tenant_id"):
        statement = "INSERT INTO state.tenants (name) VALUES ('{guess}')" + ending
        attacker.must_look_the_same(statement, right=name, wrong="nobody")


def guess_a_unique_value(attacker: Attacker) -> None:
    for ending in ("", " ON CONFLICT DO NOTHING"):
        statement = (
            "INSERT INTO state.attack_probe (tenant_id, code, secret) VALUES ('{a}', '{guess}', '')" + ending
        )
        attacker.must_look_the_same(statement, right=f"{MARKER}-1", wrong="nothing")


def guess_a_row_by_a_reference_to_it(attacker: Attacker) -> None:
    statement = "INSERT INTO state.attack_child (tenant_id, probe_id) VALUES ('{a}', '{guess}')"
    attacker.must_look_the_same(
        statement, right=attacker.target.b_row, wrong="01890000-0000-7000-8000-000000000000"
    )


def guess_by_estimates(attacker: Attacker) -> None:
    """The planner's estimate for a comparison reveals statistics."""
    for comparison in ("secret = '{guess}'", "secret < '{guess}~'", "secret LIKE '{guess}%'"):
        statement = f"EXPLAIN SELECT FROM state.attack_probe WHERE {comparison}"
        attacker.must_look_the_same(statement, right=SECRET, wrong="a" * len(SECRET))


def read_what_others_run(attacker: Attacker) -> None:
    with query_as_b(attacker.target):
        attacker.run("SELECT query FROM pg_stat_activity")
        attacker.run("SELECT * FROM pg_stat_get_activity(NULL)")
        attacker.run("SELECT * FROM pg_prepared_statements; SELECT * FROM pg_cursors; SELECT * FROM pg_locks")


def open_another_tenant(attacker: Attacker) -> None:
    name = attacker.target.b.name
    for proof in ("current_setting('mnemic.tenant_proof')", "''", "repeat('0', 64)"):
        attacker.run(
            f"SET mnemic.opening = '{name}'; SELECT set_config('mnemic.opening_proof', {proof}, true)"
        )
        attacker.must_find_nothing("SELECT tenant_id FROM state.tenants WHERE name <> 'alpha'")


def replay_a_proof_of_b_from_elsewhere(attacker: Attacker) -> None:
    """Use B's proof while B's own transaction is still open."""
    target = attacker.target
    with psycopg.connect(target.access.conninfo(), autocommit=True) as b_connection:
        proof = begin_as(b_connection, target.access.key, target.b)
        attacker.run(f"SET mnemic.tenant = '{{b}}'; SET mnemic.tenant_proof = '{proof}'")
        attacker.run(SEE_ALL)
        attacker.run("DELETE FROM state.attack_probe")


def replay_a_proof_of_b_from_before(attacker: Attacker) -> None:
    """Use B's proof of the previous transaction on the same connection."""
    target = attacker.target
    attacker.connection.execute("ROLLBACK")
    proof = begin_as(attacker.connection, target.access.key, target.b)
    attacker.connection.execute("COMMIT")
    begin_as(attacker.connection, target.access.key, target.a)
    attacker.run(f"SET mnemic.tenant = '{{b}}'; SET mnemic.tenant_proof = '{proof}'; {SEE_ALL}")
    attacker.run(f"COMMIT; SET mnemic.tenant = '{{b}}'; SET mnemic.tenant_proof = '{proof}'; {SEE_ALL}")
    attacker.run(
        "CREATE PROCEDURE pg_temp.spy() LANGUAGE plpgsql AS $$ BEGIN COMMIT;"
        " PERFORM set_config('mnemic.tenant', '{b}', true),"
        f" set_config('mnemic.tenant_proof', '{proof}', true);"
        " RAISE NOTICE '%', (SELECT string_agg(secret, ',') FROM state.attack_probe); END $$"
    )
    attacker.run("ROLLBACK")
    attacker.run("CALL pg_temp.spy()")


def replay_an_own_proof_on_another_connection(attacker: Attacker) -> None:
    target = attacker.target
    attacker.connection.execute("ROLLBACK")
    proof = begin_as(attacker.connection, target.access.key, target.a)
    with psycopg.connect(target.access.conninfo(), autocommit=True) as other:
        begin(other)
        parameters = {"purpose": "tenant", "subject": str(target.a.id), "proof": proof}
        other.execute(query("session.prove"), parameters)
        attacker.must_find_nothing("SELECT secret FROM state.attack_probe", on=other)


def use_a_proof_for_another_purpose(attacker: Attacker) -> None:
    """The proof of a tenant is not valid for opening or for maintenance."""
    for purpose in ("opening", "maintenance", "tenant_proof", ""):
        attacker.run(
            f"SELECT set_config('mnemic.{purpose}', current_setting('mnemic.tenant'), true),"
            f" set_config('mnemic.{purpose}_proof', current_setting('mnemic.tenant_proof'), true)"
        )
        attacker.must_find_nothing(f"SELECT mnemic.verified_claim('{purpose}')")


# A filter that every memory passes, and searches for a word that is in every memory.
ANY_MEMORY = (
    "ROW(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, ARRAY['active'], now(), false,"
    " NULL, NULL, NULL, NULL, NULL, NULL, NULL)::mnemic.recall_filter"
)
# The same for searches by time.
ANY_TIME = (
    "ROW(NULL, NULL, NULL, NULL, NULL, '-infinity', 'infinity', NULL, ARRAY['active'], now(), false,"
    " NULL, NULL, NULL, NULL, NULL, NULL, NULL)::mnemic.recall_filter"
)
ALL_TIMES = "ARRAY['-infinity']::timestamptz[], ARRAY['infinity']::timestamptz[]"
SEARCHES = (
    "SELECT unnest(memory_ids) AS memory_id"
    " FROM mnemic.lexical_candidates("
    f"'somebody', ARRAY['secret'], NULL, 1, NULL, {ANY_MEMORY}, NULL, {{as_of}}, 100)",
    f"SELECT memory_id FROM mnemic.filtered_candidates('somebody', {ANY_MEMORY}, 100) AS memory_id",
    f"SELECT unnest(mnemic.memories_in_window('somebody', {ANY_TIME}, 100)) AS memory_id",
    # By words, and all memories in the order of a list.
    "SELECT memory_id FROM mnemic.list_memories('somebody', ROW(NULL, 'secret', NULL, NULL, NULL, NULL, NULL,"
    " NULL, NULL, NULL, NULL, NULL, NULL, false, true, {as_of})::mnemic.memory_filter, 'newest', NULL, 100)"
    " AS memory_id",
    "SELECT memory_id FROM mnemic.list_memories('somebody', ROW(NULL, NULL, NULL, NULL, NULL, NULL, NULL,"
    " NULL, NULL, NULL, NULL, NULL, NULL, false, true, {as_of})::mnemic.memory_filter, 'oldest', NULL, 100)"
    " AS memory_id",
    "SELECT memory_id FROM mnemic.granted_memories("
    f"mnemic.current_tenant(), 'somebody', {ANY_MEMORY}, {ANY_MEMORY}, {{as_of}})",
)
# Searches by functions that run with the caller's policies and take the tenant as a parameter.
FIRST_TABLE = f"(SELECT table_name FROM mnemic.vector_models WHERE model = '{FIRST_MODEL}') AS first_one"
THEIRS = "(SELECT array_agg(memory_id) FROM state.memories)"
SEARCHES_FOR_B = (
    "SELECT unnest(found_ids) AS memory_id"
    " FROM mnemic.recall_by_words('{b}', 'somebody', ARRAY['secret'], NULL, 1, NULL, 100,"
    f" {ANY_MEMORY}, NULL, {{as_of}})",
    f"SELECT unnest(memory_ids) AS memory_id FROM {FIRST_TABLE},"
    " mnemic.nearest_vectors('{b}', 'somebody', table_name, '[1,0,0]'::halfvec, NULL, 40, 100)",
    f"SELECT unnest(near_ids) AS memory_id FROM {FIRST_TABLE},"
    f" mnemic.recall_by_vector('{{b}}', 'somebody', '{FIRST_MODEL}', table_name, '[1,0,0]'::halfvec, NULL,"
    " NULL, 40, 100)",
    f"SELECT unnest(memory_ids) AS memory_id FROM {FIRST_TABLE},"
    f" mnemic.nearest_granted('{{b}}', 'somebody', {ANY_MEMORY}, {ANY_MEMORY}, {{as_of}}, table_name,"
    " '[1,0,0]'::halfvec, 100)",
    "SELECT unnest(memory_ids) AS memory_id"
    f" FROM mnemic.candidate_features('somebody', {THEIRS}, {THEIRS}, 2, ARRAY['secret'], {ANY_MEMORY},"
    " NULL, {as_of}, 99)",
    f"SELECT memory_id FROM mnemic.recall_records('{{b}}', {THEIRS})",
    f"SELECT unnest(time_ids) AS memory_id FROM {FIRST_TABLE},"
    f" mnemic.recall_in_windows('{{b}}', 'somebody', {ANY_MEMORY}, NULL, {ALL_TIMES}, 100, table_name,"
    " '[1,0,0]'::halfvec, 100)",
)


def search_as_b(attacker: Attacker) -> None:
    """Some functions of recall run as mnemic_definer, which bypasses policies, and so check the proof.

    They find A's own memory, of an owner of the same name, and nothing else.
    """
    ((own,),) = attacker.run("SELECT array_agg(memory_id)::text FROM state.memories") or [("{}",)]
    for search in (*SEARCHES, *SEARCHES_FOR_B):
        for as_of in ("NULL", "now()"):
            found = f"SELECT * FROM ({search.replace('{as_of}', as_of)}) AS found"
            foreign = f"{found} WHERE memory_id <> ALL ('{own}'::uuid[])"
            attacker.must_find_nothing(foreign)
            attacker.must_find_nothing(f"SET mnemic.tenant = '{{b}}'; {foreign}")
            attacker.must_find_nothing(
                f"SET mnemic.tenant = '{{b}}'; SET mnemic.tenant_proof = '{'0' * 64}'; {foreign}"
            )
            attacker.must_find_nothing(
                "CREATE FUNCTION pg_temp.spy() RETURNS SETOF uuid LANGUAGE sql SET mnemic.tenant = '{b}'"
                f" AS $spy$ {foreign} $spy$; SELECT * FROM pg_temp.spy()"
            )
    attacker.run("ROLLBACK")


def search_by_a_replayed_proof(attacker: Attacker) -> None:
    """Use B's proof while B's own transaction is still open."""
    target = attacker.target
    with psycopg.connect(target.access.conninfo(), autocommit=True) as b_connection:
        proof = begin_as(b_connection, target.access.key, target.b)
        for search in (*SEARCHES, *SEARCHES_FOR_B):
            attacker.must_find_nothing(
                f"SET mnemic.tenant = '{{b}}'; SET mnemic.tenant_proof = '{proof}';"
                f" {search.replace('{as_of}', 'NULL')}"
            )


SPECIAL = {
    "policy off": (copy_out, copy_in, read_every_table, guess_the_name_of_a_tenant),
    "keys without the tenant": (guess_a_unique_value, guess_a_row_by_a_reference_to_it),
    "statistics are kept": (guess_by_estimates,),
    "values are in the text of queries": (read_what_others_run,),
    "settings are trusted": (open_another_tenant, use_a_proof_for_another_purpose, search_as_b),
    "proofs never expire": (
        replay_a_proof_of_b_from_elsewhere,
        replay_a_proof_of_b_from_before,
        replay_an_own_proof_on_another_connection,
        search_by_a_replayed_proof,
    ),
}
