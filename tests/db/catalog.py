"""Invariants of Mnemic's schemas, each a query of the catalog that returns the names of violations.

The queries cover new tables, functions and roles automatically. No rows mean that the invariant holds.
"""

TENANT_SCHEMAS = "('state', 'vectors', 'traces', 'queue')"

# The only unique key that does not start with the tenant: tenants are looked up by name.
TENANT_NAME_INDEX = "state.tenants_name"

# Columns that keep statistics because plans depend on them, each with its target, and what they reveal; the
# procedure `mnemic.withhold_statistics` says more.
WITH_STATISTICS = """
    -- Ids and shares of the largest tenants. Otherwise each is taken for a 200th of a table.
    attname = 'tenant_id' AND target = -1
    -- The lowest, the highest and the most frequent id. Otherwise each is taken for a 200th of a table.
    OR atttypid = 'uuid'::regtype AND attnotnull AND target = 1
"""
# Further columns that may have statistics, and why.
COUNTED_COLUMNS: dict[str, str] = {}

TENANT_POLICY = "(tenant_id = ( SELECT mnemic.current_tenant() AS current_tenant))"
OPENING_POLICY = "(name = ( SELECT mnemic.verified_claim(''opening''::text) AS verified_claim))"

TENANT_TABLES = f"""
    SELECT pg_class.*, oid::regclass::text AS name
    FROM pg_class
    WHERE relnamespace::regnamespace::text IN {TENANT_SCHEMAS} AND relkind IN ('r', 'p')
"""

# Roles that have the application's privileges: its role, its logins, PUBLIC.
APP_ROLES = """
    SELECT oid FROM pg_roles
    WHERE rolname <> 'mnemic_definer' AND NOT rolsuper AND pg_has_role(oid, 'mnemic_app', 'MEMBER')
    UNION ALL SELECT 0
"""

CHECKS = {
    "every table has a tenant": f"""
        SELECT name FROM ({TENANT_TABLES}) AS ours
        WHERE NOT EXISTS (
            SELECT FROM pg_attribute
            WHERE attrelid = ours.oid AND attname = 'tenant_id' AND atttypid = 'uuid'::regtype AND attnotnull
        )""",
    "every table has row-level security, forced": f"""
        SELECT name FROM ({TENANT_TABLES}) AS ours WHERE NOT (relrowsecurity AND relforcerowsecurity)""",
    "every table has a policy": f"""
        SELECT name FROM ({TENANT_TABLES}) AS ours
        WHERE NOT EXISTS (SELECT FROM pg_policy WHERE polrelid = ours.oid AND polroles = '{{0}}')""",
    "every policy for the application compares with the verified tenant": f"""
        SELECT polrelid::regclass || '.' || polname AS name
        FROM pg_policy
        WHERE polroles && ARRAY(SELECT oid FROM ({APP_ROLES}) AS app)
          AND NOT (
              coalesce(pg_get_expr(polqual, polrelid), '{TENANT_POLICY}') = '{TENANT_POLICY}'
              AND coalesce(pg_get_expr(polwithcheck, polrelid), '{TENANT_POLICY}') = '{TENANT_POLICY}'
          )
          AND NOT (
              polrelid = 'state.tenants'::regclass AND polcmd = 'r'
              AND pg_get_expr(polqual, polrelid) = '({TENANT_POLICY} OR {OPENING_POLICY})'
          )
          AND NOT (
              polrelid = 'state.tenants'::regclass AND polcmd = 'a'
              AND pg_get_expr(polwithcheck, polrelid) = '{OPENING_POLICY}'
          )""",
    "no policy names the application's role, whose members could drop it with DROP OWNED": f"""
        SELECT polrelid::regclass || '.' || polname AS name
        FROM pg_policy
        WHERE polroles && ARRAY(SELECT oid FROM ({APP_ROLES}) AS app WHERE oid <> 0)""",
    "every table has a primary key": f"""
        SELECT name FROM ({TENANT_TABLES}) AS ours
        WHERE NOT EXISTS (SELECT FROM pg_constraint WHERE conrelid = ours.oid AND contype = 'p')""",
    "every unique and every sorted index starts with the tenant": f"""
        SELECT indexrelid::regclass::text AS name
        FROM pg_index
        JOIN ({TENANT_TABLES}) AS ours ON ours.oid = indrelid
        JOIN pg_class AS index_class ON index_class.oid = indexrelid
        JOIN pg_am ON pg_am.oid = index_class.relam
        LEFT JOIN pg_attribute ON attrelid = indrelid AND attnum = indkey[0]
        WHERE (indisunique OR amname = 'btree')
          AND attname IS DISTINCT FROM 'tenant_id'
          AND indexrelid::regclass::text <> '{TENANT_NAME_INDEX}'""",
    "every foreign key includes the tenant": f"""
        SELECT conrelid::regclass || '.' || conname AS name
        FROM pg_constraint
        JOIN ({TENANT_TABLES}) AS ours ON ours.oid = conrelid
        LEFT JOIN pg_attribute AS ours_too ON ours_too.attrelid = conrelid AND ours_too.attnum = conkey[1]
        LEFT JOIN pg_attribute AS theirs ON theirs.attrelid = confrelid AND theirs.attnum = confkey[1]
        WHERE contype = 'f' AND NOT (ours_too.attname = 'tenant_id' AND theirs.attname = 'tenant_id')""",
    "the application may select, insert, update and delete, and nothing else": f"""
        SELECT DISTINCT ours.name || ': ' || acl.privilege_type AS name
        FROM ({TENANT_TABLES}) AS ours, aclexplode(relacl) AS acl
        WHERE acl.grantee IN ({APP_ROLES})
          AND (acl.privilege_type NOT IN ('SELECT', 'INSERT', 'UPDATE', 'DELETE') OR acl.is_grantable)""",
    "no column has statistics, unless it is listed": f"""
        SELECT coalesce(pg_index.indrelid, ours.oid)::regclass || '.' || attname AS name
        FROM pg_attribute
        JOIN pg_class AS ours ON ours.oid = attrelid AND relnamespace::regnamespace::text IN {TENANT_SCHEMAS}
        LEFT JOIN pg_index ON indexrelid = ours.oid
        CROSS JOIN LATERAL coalesce(attstattarget, -1) AS target
        WHERE attnum > 0 AND NOT attisdropped AND target <> 0
          AND (relkind IN ('r', 'p') OR indkey[attnum - 1] = 0)
          AND NOT (relkind IN ('r', 'p') AND ({WITH_STATISTICS}))""",
    "there are no extended statistics": f"""
        SELECT stxname::text AS name FROM pg_statistic_ext
        WHERE stxnamespace::regnamespace::text IN {TENANT_SCHEMAS}""",
    "every view checks the privileges of its caller": f"""
        SELECT DISTINCT pg_class.oid::regclass::text AS name
        FROM pg_class
        WHERE relnamespace::regnamespace::text IN {TENANT_SCHEMAS} AND relkind IN ('v', 'm', 'f')
          AND NOT (relkind = 'v' AND coalesce(reloptions, '{{}}') @> ARRAY['security_invoker=true'])""",
    "the application writes nothing in the schema mnemic": f"""
        SELECT DISTINCT pg_class.oid::regclass || ': ' || acl.privilege_type AS name
        FROM pg_class, aclexplode(relacl) AS acl
        WHERE relnamespace = 'mnemic'::regnamespace AND relkind IN ('r', 'p', 'v', 'm', 'S')
          AND acl.grantee IN ({APP_ROLES}) AND acl.privilege_type <> 'SELECT'""",
    "only mnemic_definer reads the signing key": """
        SELECT grantee::regrole || ': ' || privilege_type AS name
        FROM pg_class, aclexplode(relacl)
        WHERE pg_class.oid = 'mnemic.signing_key'::regclass AND grantee <> relowner
          AND (grantee, privilege_type) <> ('mnemic_definer'::regrole, 'SELECT')
        UNION ALL
        SELECT attname || ' by column' FROM pg_attribute
        WHERE attrelid = 'mnemic.signing_key'::regclass AND attacl IS NOT NULL""",
    "every SECURITY DEFINER function belongs to mnemic_definer": f"""
        SELECT pg_proc.oid::regprocedure::text AS name
        FROM pg_proc
        WHERE pronamespace::regnamespace::text IN ('mnemic', 'public', {TENANT_SCHEMAS[1:]}
          AND prosecdef AND proowner <> 'mnemic_definer'::regrole""",
    "every SECURITY DEFINER function pins its search path": f"""
        SELECT pg_proc.oid::regprocedure::text AS name
        FROM pg_proc
        WHERE pronamespace::regnamespace::text IN ('mnemic', 'public', {TENANT_SCHEMAS[1:]}
          AND prosecdef
          AND NOT coalesce(proconfig, '{{}}') && ARRAY['search_path=pg_catalog, pg_temp']""",
    "every SECURITY DEFINER function that bypasses policies checks its caller": rf"""
        SELECT DISTINCT pg_proc.oid::regprocedure::text AS name
        FROM pg_proc JOIN pg_policy ON prosrc ~ format('\m%s\M', polrelid::regclass)
        CROSS JOIN LATERAL aclexplode(coalesce(proacl, acldefault('f', proowner))) AS acl
        WHERE prosecdef AND prorettype <> 'trigger'::regtype
          AND (acl.grantee = 0 OR acl.grantee IN ({APP_ROLES}))
          AND polroles = ARRAY['mnemic_definer'::regrole::oid] AND pg_get_expr(polqual, polrelid) = 'true'
          AND prosrc !~ 'mnemic\.(require_worker_proof|may_run_schedules|current_tenant|signature)\('""",
    "PUBLIC may not execute procedures or SECURITY DEFINER functions": f"""
        SELECT pg_proc.oid::regprocedure::text AS name
        FROM pg_proc
        LEFT JOIN LATERAL aclexplode(coalesce(proacl, acldefault('f', proowner))) AS acl ON true
        WHERE pronamespace::regnamespace::text IN ('mnemic', {TENANT_SCHEMAS[1:]}
          AND (prosecdef OR prokind = 'p') AND acl.grantee = 0""",
    "the application may not execute functions of migrations": f"""
        SELECT pg_proc.oid::regprocedure::text AS name
        FROM pg_proc, aclexplode(coalesce(proacl, acldefault('f', proowner))) AS acl
        WHERE pg_proc.oid IN (
            'mnemic.protect'::regproc, 'mnemic.run_as_definer'::regproc, 'mnemic.make_login'::regproc,
            'mnemic.create_vector_table'::regproc, 'mnemic.create_log_partition'::regproc
        ) AND acl.grantee IN ({APP_ROLES})""",
    "the application may not create objects in a schema or in the database": f"""
        SELECT DISTINCT nspname::text AS name
        FROM pg_namespace, aclexplode(coalesce(nspacl, acldefault('n', nspowner))) AS acl
        WHERE acl.grantee IN ({APP_ROLES}) AND acl.privilege_type = 'CREATE'
        UNION ALL
        SELECT datname::text
        FROM pg_database, aclexplode(coalesce(datacl, acldefault('d', datdba))) AS acl
        WHERE datname = current_database()
          AND acl.grantee IN ({APP_ROLES}) AND acl.privilege_type = 'CREATE'""",
    "no role of Mnemic has server-wide privileges": """
        SELECT rolname::text AS name FROM pg_roles
        WHERE (rolname = 'mnemic_definer' OR pg_has_role(oid, 'mnemic_app', 'MEMBER') AND rolname <> 'mnemic')
          AND (rolsuper OR rolbypassrls OR rolcreaterole OR rolcreatedb OR rolreplication)""",
    "roles with privileges cannot log in": """
        SELECT rolname::text AS name FROM pg_roles
        WHERE rolname IN ('mnemic_app', 'mnemic_definer') AND rolcanlogin""",
    "the application owns nothing": f"""
        SELECT pg_describe_object(classid, objid, objsubid) AS name
        FROM pg_shdepend
        WHERE deptype = 'o' AND dbid IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))
          AND refclassid = 'pg_authid'::regclass AND refobjid IN ({APP_ROLES})""",
    "the application is a member of its own role only": """
        SELECT member::regrole || ' in ' || roleid::regrole AS name
        FROM pg_auth_members
        WHERE pg_has_role(member, 'mnemic_app', 'MEMBER')
          AND roleid <> 'mnemic_app'::regrole AND member::regrole::text <> 'mnemic'""",
    "mnemic_definer has no members and is a member of no role": """
        SELECT member::regrole || ' in ' || roleid::regrole AS name
        FROM pg_auth_members
        WHERE 'mnemic_definer'::regrole IN (roleid, member)""",
    "there are no default privileges": """
        SELECT defaclnamespace::regnamespace::text AS name FROM pg_default_acl""",
    "no rule rewrites queries on Mnemic's tables": f"""
        SELECT rulename::text AS name
        FROM pg_rewrite JOIN ({TENANT_TABLES}) AS ours ON ours.oid = ev_class""",
}
