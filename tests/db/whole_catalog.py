"""The catalog of Mnemic's schemas as comparable lines.

The order of columns is kept. Left out are object ids, the numbers of dropped columns, and the names of NOT
NULL constraints, which PostgreSQL has from version 18 on: the columns say whether they are NOT NULL.
"""

from tests.conftest import AppConnection

OUR_SCHEMAS = "('mnemic', 'state', 'vectors', 'traces', 'queue')"

_QUERIES = {
    "schema": f"""
        SELECT nspname::text, nspowner::regrole::text, coalesce(nspacl::text[], '{{}}')
        FROM pg_namespace WHERE nspname IN {OUR_SCHEMAS}""",
    "relation": f"""
        SELECT pg_class.oid::regclass::text, relkind, relowner::regrole::text,
            coalesce(relacl::text[], '{{}}'),
            relrowsecurity, relforcerowsecurity, reloptions, relpersistence, relreplident,
            obj_description(pg_class.oid, 'pg_class'), pg_get_partkeydef(pg_class.oid)
        FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE nspname IN {OUR_SCHEMAS}""",
    "column": f"""
        SELECT attrelid::regclass::text, row_number() OVER (PARTITION BY attrelid ORDER BY attnum),
            attname::text, format_type(atttypid, atttypmod), attnotnull, attidentity, attgenerated,
            attstattarget, attstorage,
            coalesce(attacl::text[], '{{}}'), pg_get_expr(adbin, adrelid), col_description(attrelid, attnum)
        FROM pg_attribute
        JOIN pg_class ON pg_class.oid = attrelid JOIN pg_namespace ON pg_namespace.oid = relnamespace
        LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
        WHERE nspname IN {OUR_SCHEMAS} AND attnum > 0 AND NOT attisdropped""",
    "constraint": f"""
        SELECT conrelid::regclass::text, conname::text, pg_get_constraintdef(pg_constraint.oid), convalidated
        FROM pg_constraint JOIN pg_namespace ON pg_namespace.oid = connamespace
        WHERE nspname IN {OUR_SCHEMAS} AND contype <> 'n'""",
    "index": f"""
        SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid), indisunique, indisprimary, indisvalid
        FROM pg_index JOIN pg_class ON pg_class.oid = indrelid
        JOIN pg_namespace ON pg_namespace.oid = relnamespace
        WHERE nspname IN {OUR_SCHEMAS}""",
    "routine": f"""
        SELECT pg_proc.oid::regprocedure::text, pg_get_functiondef(pg_proc.oid), proowner::regrole::text,
            coalesce(proacl::text[], '{{}}'), obj_description(pg_proc.oid, 'pg_proc')
        FROM pg_proc JOIN pg_namespace ON pg_namespace.oid = pronamespace WHERE nspname IN {OUR_SCHEMAS}""",
    "view": f"""
        SELECT pg_class.oid::regclass::text, pg_get_viewdef(pg_class.oid)
        FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
        WHERE nspname IN {OUR_SCHEMAS} AND relkind = 'v'""",
    "trigger": f"""
        SELECT tgrelid::regclass::text, tgname::text, pg_get_triggerdef(pg_trigger.oid), tgenabled
        FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
        JOIN pg_namespace ON pg_namespace.oid = relnamespace
        WHERE nspname IN {OUR_SCHEMAS} AND NOT tgisinternal""",
    "policy": f"""
        SELECT polrelid::regclass::text, polname::text, polcmd, polpermissive,
            ARRAY(
                SELECT CASE WHEN role = 0 THEN 'public' ELSE role::regrole::text END
                FROM unnest(polroles) AS role
            ),
            pg_get_expr(polqual, polrelid), pg_get_expr(polwithcheck, polrelid)
        FROM pg_policy JOIN pg_class ON pg_class.oid = polrelid
        JOIN pg_namespace ON pg_namespace.oid = relnamespace
        WHERE nspname IN {OUR_SCHEMAS}""",
}


# These are named by their table and their own name or number.
_KEY_LENGTHS = {"column": 2, "constraint": 2, "trigger": 2, "policy": 2}


def whole_catalog(connection: AppConnection) -> dict[str, str]:
    """The objects of the database, as ``{"kind name": description}``."""
    return {
        " ".join((kind, *map(str, row[: _KEY_LENGTHS.get(kind, 1)]))): str(_plain(row))
        for kind, statement in _QUERIES.items()
        for row in connection.execute(statement.encode()).fetchall()
    }


def _plain(row: tuple[object, ...]) -> list[object]:
    """Sorted, since the order of privileges has no meaning."""
    return [sorted(value) if isinstance(value, list) else value for value in row]
