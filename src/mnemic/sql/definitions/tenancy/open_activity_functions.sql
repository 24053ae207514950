-- The functions that mnemic.withhold_activity() takes from PUBLIC and that PUBLIC still has.
CREATE OR REPLACE FUNCTION mnemic.open_activity_functions() RETURNS SETOF regprocedure
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT pg_proc.oid::regprocedure
    FROM pg_proc
    WHERE pronamespace = 'pg_catalog'::regnamespace
      AND has_function_privilege('public', pg_proc.oid, 'EXECUTE')
      AND (
          -- Statements, waits and counters of all sessions. Those of the own transaction include what the connection
          -- did before, for another tenant.
          starts_with(proname, 'pg_stat_get_')
          OR proname IN (
              'pg_stat_have_stats',
              -- Locks, and who waits for whom.
              'pg_lock_status', 'pg_blocking_pids', 'pg_safe_snapshot_blocking_pids',
              'pg_isolation_test_session_is_blocked', 'pg_prepared_xact', 'pg_get_multixact_members',
              -- How much others write, and when.
              'pg_current_wal_lsn', 'pg_current_wal_insert_lsn', 'pg_current_wal_flush_lsn',
              'pg_control_checkpoint', 'pg_last_committed_xact', 'pg_xact_commit_timestamp',
              'pg_xact_commit_timestamp_origin', 'pg_available_wal_summaries', 'pg_wal_summary_contents',
              'pg_get_replication_slots', 'pg_notification_queue_usage',
              -- Ending statements and sessions of the same login.
              'pg_cancel_backend', 'pg_terminate_backend',
              -- Storing outside of row-level security: large objects and messages in the write-ahead log.
              'lo_creat', 'lo_create', 'lo_from_bytea', 'pg_logical_emit_message'
          )
      )
    UNION ALL
    SELECT objid::regprocedure
    FROM pg_depend JOIN pg_extension ON pg_extension.oid = refobjid
    WHERE classid = 'pg_proc'::regclass AND refclassid = 'pg_extension'::regclass AND deptype = 'e'
      AND extname IN ('pg_stat_statements', 'pg_stat_monitor', 'pg_stat_kcache', 'pg_qualstats')
      AND has_function_privilege('public', objid, 'EXECUTE');
END;
GRANT EXECUTE ON FUNCTION mnemic.open_activity_functions() TO mnemic_app;
