"""DuckDB reads the lake itself, with a login that the server makes: what it sees, and all that it must not.

The server here is no superuser of PostgreSQL: it owns its database and may make roles, as in production.
"""
import concurrent.futures
import contextlib
import dataclasses
import datetime
import re
import secrets
import time

import duckdb
import pytest
import requests

from by_hand import Watched
from direct_logins import HOSTILE, HUSH, granted, psql, refused, rows, say, session, table_id, told
from lake_clients import duck as duckdb_client
from rest import Rest, assert_error
from stack.process import wait_until

FIELDS = {'ducklake_dsn', 'ducklake_data_path', 'ducklake_attach_sql', 'post_attach_sql', 'masked_view', 'mask_signature',
          'transparent', 'file_layer', 'pg_role', 'pg_valid_until', 'mask_projection', 'row_filter', 'scan_files', 's3'}


# What is given

def test_a_login_is_on_record_before_it_is_told(kept, bob):
    answer = requests.get(f'{kept.server.uri()}/v1/lake/governance/audit', headers=kept.token('admin'), timeout=30,
                          params={'operation': 'ducklake_credentials', 'principal': 'bob', 'limit': 1000})
    assert answer.status_code == 200, answer.text
    by_role = {entry['detail']['pg_role']: entry for entry in answer.json()['entries']}
    entry = by_role[bob['pg_role']]
    assert entry['decision'] == 'allowed' and 'sales' in entry['object']
    assert bob['ducklake_dsn'] not in answer.text and 'password' not in answer.text


def test_duckdb_attaches_and_reads_what_its_principal_may(kept, bob):
    assert set(bob) == FIELDS
    assert bob['ducklake_data_path'] == kept.lake.data_path and bob['post_attach_sql'] == []
    with duckdb_client.connect_direct(bob) as duck:
        table = 'lake.sales.open_t'
        assert rows(duck, f'SELECT count(*), max(open_i) FROM {table}') == [(1001, 5001)]
        assert rows(duck, f'SELECT open_i FROM {table} WHERE open_i IN (6, 7, 8) OR s LIKE \'%inlined%\' ORDER BY 1') == [
            (6,), (8,), (5000,), (5001,)]
        assert rows(duck, "SELECT count(*) FROM lake.sales.open_p WHERE d >= DATE '2021-01-01'") == [(634,)]
        assert rows(duck, 'SELECT count(*) FROM lake.sales.open_v') == [(1001,)]
        assert rows(duck, "SELECT lake.sales.open_m('x')") == [('xopen',)]
        duck.execute('USE lake.sales')
        assert rows(duck, 'SELECT count(*) FROM open_t') == [(1001,)]
        newest = rows(duck, "FROM ducklake_current_snapshot('lake')")[0][0]
        first = rows(duck, f"SELECT min(snapshot_id) FROM ducklake_table_changes('lake', 'sales', 'open_t', 0, {newest})")[0][0]
        assert rows(duck, f'SELECT count(*) FROM {table} AT (VERSION => {first})') == [(1000,)]
        # Without what is said of each: the log names tables of all schemas.
        assert {str(row[-4]) for row in rows(duck, "FROM ducklake_snapshots('lake')")} == {'{}'}


def test_the_login_is_as_the_answer_says(kept, bob):
    digest = re.fullmatch(r'lakeproxy_p_bob_([0-9a-f]{8})_[0-9a-f]{12}', bob['pg_role'])
    assert digest and f'user={bob["pg_role"]} ' in bob['ducklake_dsn']
    until = datetime.datetime.fromisoformat(bob['pg_valid_until'].replace('Z', '+00:00'))
    assert 3500 < (until - datetime.datetime.now(datetime.timezone.utc)).total_seconds() <= 3600
    facts = kept.ask(f"""SELECT rolsuper, rolcreaterole, rolcreatedb, rolbypassrls, rolreplication, rolcanlogin, rolconnlimit,
        extract(epoch FROM rolvaliduntil)::bigint FROM pg_roles WHERE rolname = '{bob['pg_role']}'""")
    assert facts == f'f|f|f|f|f|t|16|{int(until.timestamp())}'
    assert told(bob, 'SHOW default_transaction_read_only') == 'on'
    again = kept.vend('bob')
    assert again['pg_role'] != bob['pg_role'] and again['ducklake_dsn'] != bob['ducklake_dsn']


def test_no_log_has_the_password(kept):
    """Not even where PostgreSQL logs each statement with its values."""
    for sql in ("ALTER SYSTEM SET log_statement = 'all'", 'SELECT pg_reload_conf()'):
        kept.stack.postgres.query('postgres', sql)
    try:
        assert wait_until(lambda: kept.ask('SHOW log_statement') == 'all', 10)
        answer = kept.vend('bob')
        assert wait_until(lambda: answer['pg_role'] in kept.stack.postgres.log.read_text(), 10)
        assert wait_until(lambda: answer['pg_role'] in kept.server.log.read_text(), 10)
    finally:
        for sql in ('ALTER SYSTEM RESET log_statement', 'SELECT pg_reload_conf()'):
            kept.stack.postgres.query('postgres', sql)
    password = re.search(r'password=(\S+)', answer['ducklake_dsn'])[1]
    assert len(password) >= 43
    for log in (kept.stack.postgres.log, kept.server.log):
        assert password not in log.read_text()
    assert kept.ask(f"SELECT rolpassword FROM pg_authid WHERE rolname = '{answer['pg_role']}'").startswith('SCRAM-SHA-256$4096:')


@pytest.mark.parametrize('name', HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_subject_gets_a_login_like_any_other(kept, name):
    answer = kept.vend(name)
    assert re.fullmatch(r'lakeproxy_p_[a-z0-9_]{0,29}_[0-9a-f]{8}_[0-9a-f]{12}', answer['pg_role'])
    assert len(answer['pg_role']) <= 63
    assert told(answer, 'SELECT count(*) FROM ducklake_table') == '2'
    assert kept.ask(f"SELECT subject FROM lakeproxy_reader WHERE role_name = '{answer['pg_role']}'") == name


def test_who_may_not_read_the_namespace_gets_none(kept):
    assert_error(kept.get('bob', 'hidden'), 403, 'ForbiddenException')
    assert_error(kept.get('writer', 'sales'), 403, 'ForbiddenException')
    assert_error(kept.get('wide', 'nowhere'), 404, 'NoSuchNamespaceException')
    assert_error(kept.get('bob', table='nowhere'), 404, 'NoSuchTableException')
    assert kept.vend('bob', table='open_t')['pg_role']


def test_a_token_of_a_narrower_scope_makes_a_narrower_login(kept):
    """As the next vend does after a scope was taken back."""
    wide = kept.vend('wide')
    assert told(wide, 'SELECT count(*) FROM ducklake_table') == '4'
    narrow = kept.vend('wide', scope='ns:sales:r')
    assert told(narrow, 'SELECT count(*) FROM ducklake_table') == '2'


# What other principals' tables leak

def relations(kept):
    return kept.ask("""SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'
                       AND relname ~ '^ducklake_' AND relname !~ '^ducklake_inlined_(data_[0-9]|delete)' ORDER BY 1""").split()


def dumped(answer, relation):
    return told(answer, f'SELECT row_to_json(r) FROM {relation} r')


def test_a_reader_reads_no_catalog_rows_of_other_tables(kept, bob, admin):
    ids = set(map(int, kept.ask("""SELECT table_id FROM ducklake_table WHERE table_name LIKE 'hush%' UNION
        SELECT view_id FROM ducklake_view WHERE view_name LIKE 'hush%' UNION SELECT macro_id FROM ducklake_macro WHERE macro_name LIKE 'hush%'
        UNION SELECT schema_id FROM ducklake_schema WHERE schema_name = 'hidden'""").split()))
    with_rows, leaks = set(), []
    for relation in relations(kept):
        if relation == 'ducklake_files_scheduled_for_deletion':
            continue
        key = re.compile(r'"(?:table_id|view_id|macro_id|schema_id|object_id)":(\d+)')
        all_rows, seen = dumped(admin, relation), dumped(bob, relation)
        if HUSH in all_rows or ids & set(map(int, key.findall(all_rows))):
            with_rows.add(relation)
        if HUSH in seen or '"hidden"' in seen or ids & set(map(int, key.findall(seen))):
            leaks.append(relation)
    assert not leaks
    assert with_rows >= {f'ducklake_{name}' for name in (
        'column', 'column_tag', 'data_file', 'file_column_stats', 'file_partition_value', 'inlined_data_tables', 'macro', 'macro_impl',
        'macro_parameters', 'partition_column', 'partition_info', 'schema', 'schema_versions', 'sort_expression', 'sort_info', 'table',
        'table_column_stats', 'table_stats', 'tag', 'view')}


def inlined_of(kept, word):
    return kept.ask(f"""SELECT c.relname FROM pg_class c JOIN ducklake_table t
        ON c.relname ~ ('^ducklake_inlined_(data|delete)_' || t.table_id || '(_|$)')
        WHERE c.relkind = 'r' AND t.table_name = '{word}_t' AND t.end_snapshot IS NULL""").split()


def test_a_reader_reads_no_inlined_rows_of_other_tables(kept, bob, admin):
    for word, seen in (('open', True), (HUSH, False)):
        relations_of = inlined_of(kept, word)
        assert {name.split('_')[2] for name in relations_of} == {'data', 'delete'}
        for relation in relations_of:
            has_rows = kept.ask(f'SELECT count(*) > 0 FROM {relation}')
            assert told(bob, f'SELECT count(*) > 0 FROM {relation}') == (has_rows if seen else 'f')
            assert told(admin, f'SELECT count(*) > 0 FROM {relation}') == has_rows
        assert 't' in [kept.ask(f'SELECT count(*) > 0 FROM {relation}') for relation in relations_of]


def test_other_tables_are_not_there_for_duckdb(kept, bob):
    with duckdb_client.connect_direct(bob) as duck:
        shown = str(rows(duck, 'SHOW ALL TABLES')) + str(rows(duck, "FROM ducklake_table_info('lake')"))
        assert 'open_t' in shown and HUSH not in shown and 'hidden' not in shown
        newest = rows(duck, "FROM ducklake_current_snapshot('lake')")[0][0]
        for statement in ('FROM lake.hidden.hush_t', 'FROM lake.hidden.hush_v', "FROM ducklake_list_files('lake', 'hush_t', schema => 'hidden')",
                          f"FROM ducklake_table_changes('lake', 'hidden', 'hush_t', 0, {newest})"):
            with pytest.raises(duckdb.Error, match='does not exist|not exist|Failed to find'):
                duck.execute(statement)


def test_our_own_tables_and_waiting_files_are_not_granted(kept, bob, admin):
    names = kept.ask("""SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'S', 'v')
                        AND relname ~ '^lakeproxy_'""").split()
    assert len(names) > 20
    for relation in [*names, 'ducklake_files_scheduled_for_deletion']:
        for answer in (bob, admin):
            refused(answer, f'SELECT * FROM {relation}')


def test_statistics_of_postgresql_tell_no_values(kept, bob):
    kept.ask('ANALYZE')
    assert HUSH in kept.ask("SELECT * FROM pg_stats WHERE tablename LIKE 'ducklake%'")
    assert told(bob, "SELECT count(*) FROM pg_stats WHERE tablename LIKE 'ducklake%' AND tablename <> 'ducklake_metadata'") == '0'
    refused(bob, 'SELECT * FROM pg_statistic')
    refused(bob, 'SET row_security = off', 'SELECT * FROM ducklake_table', says='would be affected by row-level security')


# What it must not do

WRITES = ["INSERT INTO ducklake_snapshot SELECT snapshot_id + 1000 FROM ducklake_snapshot", 'DELETE FROM ducklake_data_file',
          "UPDATE ducklake_table SET table_name = 'x'", 'TRUNCATE ducklake_column', "INSERT INTO ducklake_metadata VALUES ('k', 'v')",
          'BEGIN; LOCK TABLE ducklake_snapshot IN EXCLUSIVE MODE', 'SELECT * FROM ducklake_snapshot FOR UPDATE',
          "INSERT INTO lakeproxy_object_grant VALUES ('schema', 1, 'select', 'analyst')",
          "UPDATE lakeproxy_reader SET namespaces = NULL", "SELECT nextval('lakeproxy_taken')"]
OBJECTS = ['CREATE TABLE public.mine (i int)', 'CREATE SCHEMA mine', 'CREATE FUNCTION f() RETURNS int LANGUAGE sql AS $$ SELECT 1 $$',
           'CREATE TEMPORARY TABLE mine (i int)', 'SELECT lo_create(0)', "SELECT lo_from_bytea(0, 'x')", 'SELECT pg_try_advisory_lock(1)',
           'CREATE EXTENSION dblink', 'CREATE DATABASE mine', 'CREATE VIEW public.v AS SELECT 1']


@pytest.mark.parametrize('statement', WRITES + OBJECTS)
def test_a_reader_changes_and_creates_nothing(kept, bob, statement):
    """Also where it lifts what its sessions begin with."""
    refused(bob, 'SET default_transaction_read_only = off', 'SHOW default_transaction_read_only', statement)
    refused(bob, statement, says='')


RIGHTS = ['SET ROLE {owner}', 'SET SESSION AUTHORIZATION {owner}', 'GRANT {owner} TO {role}', 'ALTER ROLE {role} CREATEROLE',
          'ALTER ROLE {role} SUPERUSER', 'ALTER ROLE {role} BYPASSRLS', "ALTER ROLE {role} VALID UNTIL 'infinity'",
          'ALTER ROLE {role} CONNECTION LIMIT -1', 'ALTER ROLE {role} RENAME TO mine', 'CREATE ROLE mine', 'SET ROLE pg_read_all_data',
          'GRANT SELECT ON lakeproxy_reader TO {role}', 'ALTER TABLE ducklake_table DISABLE ROW LEVEL SECURITY',
          'DROP POLICY {group} ON ducklake_table', "CREATE POLICY p ON ducklake_table USING (true)", 'ALTER ROLE {group} LOGIN',
          "COPY ducklake_table TO PROGRAM 'cat'", "SELECT pg_read_file('/etc/passwd')", 'ALTER TABLE ducklake_table OWNER TO {role}',
          "SELECT lakeproxy_make_reader('{group}', 'mine', 'SCRAM-SHA-256$', '1 day', 9, 'x', '', true, NULL, '{{}}')",
          "SELECT lakeproxy_end_reader('{role}', now())", "SELECT lakeproxy_open_to_readers('{group}')", 'SELECT lakeproxy_release_files(NULL)',
          'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = \'{owner}\'']


@pytest.mark.parametrize('statement', RIGHTS)
def test_a_reader_does_not_raise_its_own_rights(kept, bob, statement):
    text = statement.format(owner=kept.owner, role=bob['pg_role'], group=kept.group)
    done = psql(bob, 'SET default_transaction_read_only = off', text)
    # One of ours answers what is in the way, and does nothing.
    harmless = 'lakeproxy_open_to_readers' in text and 'CREATEROLE' in done.stdout
    assert harmless or (done.returncode != 0 and re.search(r'permission denied|must (?:be|have)|cannot be|not allowed|have CREATEROLE|does not exist', done.stderr)), done
    assert told(bob, 'SELECT count(*) FROM ducklake_table') == '2'


def test_the_group_itself_sees_nothing_more(kept, bob):
    assert told(bob, f'SET ROLE {kept.group}', 'SELECT count(*) FROM ducklake_table') == '2'


def test_no_function_lends_a_reader_its_owners_rights(kept, bob):
    """A trigger of one's own on a table of one's own would call those of our triggers."""
    lent = """SELECT string_agg(p.proname, ' ' ORDER BY p.proname) FROM pg_proc p WHERE p.prosecdef
              AND p.pronamespace = 'public'::regnamespace AND has_function_privilege(p.oid, 'EXECUTE')"""
    assert told(bob, lent) == 'lakeproxy_is_reader lakeproxy_may_read lakeproxy_readable lakeproxy_reader_group'
    kept.ask(f'GRANT TEMPORARY ON DATABASE {kept.database} TO PUBLIC')
    try:
        for function in kept.ask("SELECT proname FROM pg_proc WHERE prosecdef AND prorettype = 'trigger'::regtype").split():
            refused(bob, 'SET default_transaction_read_only = off', 'CREATE TEMPORARY TABLE mine (snapshot_id bigint)',
                    f'CREATE TRIGGER mine BEFORE INSERT ON mine FOR EACH ROW EXECUTE FUNCTION public.{function}()',
                    says='permission denied for function')
    finally:
        kept.ask(f'REVOKE TEMPORARY ON DATABASE {kept.database} FROM PUBLIC')


def test_temporary_tables_do_not_stand_for_those_that_rules_read(kept, bob):
    """They are looked up first, unless a function says otherwise."""
    mine = [f"CREATE TEMPORARY TABLE lakeproxy_reader AS SELECT '{bob['pg_role']}'::text role_name, 'bob'::text subject, ''::text issuer, "
            "true is_administrator, NULL::text[] namespaces, '{}'::text[] roles, now() made_at, 'infinity'::timestamptz valid_until",
            'CREATE TEMPORARY TABLE ducklake_schema AS SELECT n::bigint schema_id, NULL::uuid schema_uuid, 0::bigint begin_snapshot, '
            "NULL::bigint end_snapshot, 'sales'::varchar schema_name, 's/'::varchar path, true path_is_relative FROM generate_series(0, 50) n"]
    kept.ask(f'GRANT TEMPORARY ON DATABASE {kept.database} TO PUBLIC')
    try:
        for table in mine:
            assert told(bob, 'SET default_transaction_read_only = off', table, 'GRANT ALL ON ALL TABLES IN SCHEMA pg_temp TO PUBLIC',
                        'SELECT count(*) FROM public.ducklake_table') == '2'
    finally:
        kept.ask(f'REVOKE TEMPORARY ON DATABASE {kept.database} FROM PUBLIC')


def test_duckdb_writes_nothing_with_it(kept, bob):
    with duckdb_client.connect_direct(bob) as duck:
        with pytest.raises(duckdb.Error, match='read-only'):
            duck.execute('INSERT INTO lake.sales.open_t VALUES (1, \'x\')')
    writable = dict(bob, ducklake_attach_sql=bob['ducklake_attach_sql'].replace('READ_ONLY, ', ''))
    with duckdb_client.connect_direct(writable) as duck:
        with pytest.raises(duckdb.Error, match='permission denied|read-only transaction'):
            duck.execute('INSERT INTO lake.sales.open_t VALUES (1, \'x\')')


def test_a_reader_of_one_catalog_reaches_no_other(kept, bob):
    body = {'catalog_id': 'acme', 'metadata_schema': 'acme_lake', 'data_prefix': f'{kept.database}-acme/'}
    made = requests.post(f'{kept.server.uri()}/v1/catalogs', json=body, headers=kept.token('admin'), timeout=60)
    assert made.status_code == 201, made.text
    rest = Rest(kept.server.uri(), 'acme')
    assert requests.post(f'{rest.uri}/v1/acme/namespaces', json={'namespace': ['sales']}, headers=kept.token('admin'),
                         timeout=60).status_code == 200
    other = kept.vend('bob', warehouse='acme')
    assert told(other, 'SELECT count(*) FROM acme_lake.ducklake_schema') == '2'
    for answer, foreign in ((bob, 'acme_lake'), (other, 'public')):
        for relation in ('ducklake_metadata', 'ducklake_snapshot', 'ducklake_table'):
            refused(answer, f'SELECT * FROM {foreign}.{relation}')


# Grants of objects

def seen_by(answer):
    return set(told(answer, 'SELECT table_name FROM ducklake_table UNION SELECT view_name FROM ducklake_view').split())


def test_once_a_select_is_granted_only_what_is_granted_is_there(kept, admin):
    bob, wide = kept.vend('bob'), kept.vend('wide')
    everything = {f'{word}_{kind}' for word in ('open', HUSH) for kind in 'tpv'}
    assert seen_by(bob) == {'open_t', 'open_p', 'open_v'} and seen_by(wide) >= everything
    with granted(kept, 'table', table_id('open_t')):
        assert seen_by(bob) == {'open_t'} and seen_by(wide) == set() and seen_by(admin) >= everything
        with duckdb_client.connect_direct(bob) as duck:
            assert rows(duck, 'SELECT count(*) FROM lake.sales.open_t') == [(1001,)]
            assert 'open_p' not in str(rows(duck, 'SHOW ALL TABLES'))
    with granted(kept, 'table', table_id('hush_t')):
        assert seen_by(bob) == set(), 'a grant opens no namespace that the token does not read'
    with granted(kept, 'schema', "SELECT schema_id FROM ducklake_schema WHERE schema_name = 'sales'"):
        assert seen_by(bob) == {'open_t', 'open_p', 'open_v'}
    with granted(kept, 'view', "SELECT view_id FROM ducklake_view WHERE view_name = 'open_v'"):
        assert seen_by(bob) == {'open_v'}
    with granted(kept, 'table', table_id('open_t'), role='other'):
        assert seen_by(bob) == set()
        kept.ask("INSERT INTO lakeproxy_role_grant (role, principal) VALUES ('other', 'bob')")
        assert seen_by(bob) == {'open_t'}
        kept.ask('DELETE FROM lakeproxy_role_grant')
        assert seen_by(bob) == set()
    assert seen_by(bob) == {'open_t', 'open_p', 'open_v'}


# The end of a login

def exists(kept, answer):
    return kept.ask(f"SELECT count(*) FROM pg_roles WHERE rolname = '{answer['pg_role']}'") == '1'


def test_a_reader_does_not_outlive_its_expiry(kept):
    with Watched.beside(kept.stack, **{**kept.settings, 'LAKEPROXY_READER_TTL_SECONDS': '7'}) as brief:
        answer = kept.vend('bob', server=brief)
        ends = time.time() + 7
        one = session(answer)
        try:
            assert say(one, 'SELECT count(*) FROM ducklake_table') == '2'
            assert wait_until(lambda: not exists(kept, answer), 20) and time.time() >= ends - 1
            with contextlib.suppress(BrokenPipeError):
                say(one, 'SELECT count(*) FROM ducklake_table')
            assert wait_until(lambda: one.poll() is not None, 10), 'the session is ended'
        finally:
            one.kill()
        refused(answer, 'SELECT 1', says='authentication failed')
        assert kept.ask(f"SELECT count(*) FROM pg_stat_activity WHERE usename = '{answer['pg_role']}'") == '0'


def test_a_session_of_an_expired_login_sees_nothing_before_it_is_ended(kept):
    answer = kept.vend('bob')
    one = session(answer)
    try:
        assert say(one, 'SELECT count(*) FROM ducklake_table') == '2'
        kept.ask(f"UPDATE lakeproxy_reader SET valid_until = now() WHERE role_name = '{answer['pg_role']}'")
        for relation in ('ducklake_table', 'ducklake_snapshot', inlined_of(kept, 'open')[0]):
            assert say(one, f'SELECT count(*) FROM {relation}') == '0'
    finally:
        one.kill()


def test_logins_that_a_dead_server_left_are_collected_by_another(kept):
    with Watched.beside(kept.stack, **{**kept.settings, 'LAKEPROXY_READER_TTL_SECONDS': '6'}) as brief:
        answer = kept.vend('bob', server=brief)
        brief.server.stop(9)
    assert exists(kept, answer)
    assert wait_until(lambda: not exists(kept, answer), 40)


# Other logins of PostgreSQL

def test_what_another_logins_duckdb_writes_is_there_for_readers_and_for_the_server(kept, bob):
    """It owns nothing of ours, and the inlined tables that it makes. It writes as before."""
    role, password = f'duck_{secrets.token_hex(4)}', secrets.token_hex(8)
    kept.ask(f"""CREATE ROLE {role} LOGIN PASSWORD '{password}'; GRANT USAGE, CREATE ON SCHEMA public TO {role};
        DO $$ DECLARE t regclass; BEGIN FOR t IN SELECT oid FROM pg_class WHERE relname ~ '^ducklake_' AND relkind = 'r'
              AND relnamespace = 'public'::regnamespace LOOP EXECUTE format('GRANT ALL ON %s TO {role}', t); END LOOP; END $$;
        GRANT SELECT ON lakeproxy_unregistered TO {role}; GRANT INSERT ON lakeproxy_path_columns TO {role}""")
    duck = duckdb_client.connect_lake(dataclasses.replace(kept.lake, pg_dsn=kept.dsn(role, password)))
    for schema in ('sales', 'hidden'):
        duck.execute(f'CREATE TABLE lake.{schema}.theirs(i INTEGER)')
        duck.execute(f'INSERT INTO lake.{schema}.theirs SELECT * FROM range(100)')
        duck.execute(f'INSERT INTO lake.{schema}.theirs VALUES (500), (501)')
        duck.execute(f'DELETE FROM lake.{schema}.theirs WHERE i = 3')
        duck.execute(f'ALTER TABLE lake.{schema}.theirs ADD COLUMN more INTEGER')
        duck.execute(f'INSERT INTO lake.{schema}.theirs VALUES (600, 1)')
    try:
        owned = kept.ask(f"SELECT count(*) FROM pg_class WHERE relowner = '{role}'::regrole AND relname ~ '^ducklake_inlined_'")
        assert int(owned) >= 6
        assert told(bob, "SELECT count(*) FROM ducklake_table WHERE table_name = 'theirs'") == '1', 'also for an older login'
        with duckdb_client.connect_direct(kept.vend('bob')) as reader:
            assert rows(reader, 'SELECT count(*), max(i) FROM lake.sales.theirs') == [(102, 600)]
        of_table = kept.ask("SELECT t.table_id FROM ducklake_table t JOIN ducklake_schema s USING (schema_id) "
                            "WHERE s.schema_name = 'hidden' AND t.table_name = 'theirs'")
        for relation in kept.ask(f"SELECT relname FROM pg_class WHERE relname ~ '^ducklake_inlined_(data|delete)_{of_table}(_|$)' AND relkind = 'r'").split():
            assert told(bob, f'SELECT count(*) FROM {relation}') == '0'
        loaded = requests.get(f'{kept.server.uri()}/v1/lake/namespaces/hidden/tables/theirs', headers=kept.token('admin'), timeout=60)
        assert loaded.status_code == 200, loaded.text
        assert loaded.json()['metadata']['snapshots'][-1]['summary']['total-records'] in ('102', '103')
    finally:
        duck.execute('DROP TABLE lake.sales.theirs')
        duck.execute('DROP TABLE lake.hidden.theirs')
        duck.close()


# What it costs

def test_rules_are_evaluated_once_a_scan(kept, bob):
    for relation in [*relations(kept), *inlined_of(kept, 'open')]:
        if relation in ('ducklake_files_scheduled_for_deletion', 'ducklake_metadata'):
            continue
        plan = told(bob, f'EXPLAIN (COSTS OFF) SELECT * FROM {relation}')
        assert re.search(r'hashed SubPlan|InitPlan|One-Time Filter: false', plan), (relation, plan)
        once = re.sub(r'hashed SubPlan \d+', '', plan)
        assert not re.search(r'(?:Filter|Cond): .*SubPlan', once), (relation, plan)
        assert not re.search(r'(?:Filter|Cond): .*lakeproxy_', plan) or 'One-Time Filter' in plan, (relation, plan)


# What stands in the way

def test_a_principal_with_a_hundred_logins_gets_no_more(kept, bob):
    kept.ask(f"""INSERT INTO lakeproxy_reader (role_name, subject, issuer, is_administrator, roles, valid_until)
        SELECT 'none_' || n, subject, issuer, false, '{{}}', now() + interval '1 hour' FROM lakeproxy_reader, generate_series(1, 100) n
        WHERE role_name = '{bob['pg_role']}'""")
    try:
        assert_error(kept.get('bob'), 429, 'TooManyRequestsException')
        assert kept.vend('wide')['pg_role'], 'another one does'
    finally:
        kept.ask("DELETE FROM lakeproxy_reader WHERE role_name LIKE 'none%'")
    assert kept.vend('bob')['pg_role']


def test_without_the_right_to_make_logins_the_answer_is_501(kept):
    kept.ask(f'ALTER ROLE {kept.owner} NOCREATEROLE')
    try:
        assert_error(kept.get('bob'), 501, 'UnsupportedOperationException')
        with Watched.beside(kept.stack, **kept.settings) as other:
            assert wait_until(lambda: 'ALTER ROLE ... CREATEROLE' in other.log.read_text(), 20), 'the start says so'
    finally:
        kept.ask(f'ALTER ROLE {kept.owner} CREATEROLE')
    assert kept.vend('bob')['pg_role']


@pytest.mark.parametrize('statement', ['INSERT ON ducklake_table', 'SELECT ON lakeproxy_state', 'CREATE ON SCHEMA public'])
def test_rights_that_everybody_has_make_no_login(kept, statement):
    kept.ask(f'GRANT {statement} TO PUBLIC')
    try:
        assert_error(kept.get('bob'), 501, 'UnsupportedOperationException')
    finally:
        kept.ask(f'REVOKE {statement} FROM PUBLIC')
    assert kept.vend('bob')['pg_role']


def test_a_group_that_may_log_in_or_bypasses_rules_is_refused(kept):
    for attribute in ('LOGIN', 'BYPASSRLS'):
        kept.ask(f'ALTER ROLE {kept.group} {attribute}')
        try:
            assert_error(kept.get('bob'), 501, 'UnsupportedOperationException')
        finally:
            kept.ask(f'ALTER ROLE {kept.group} NO{attribute}')


def test_a_writer_that_holds_the_tables_makes_it_503(kept):
    """Of a lake that no reader has read yet: later nothing is locked."""
    with Watched.beside(kept.stack, **{**kept.settings, 'LAKEPROXY_READER_GROUP_ROLE': f'{kept.database}_late'}) as other:
        holder = session({'ducklake_dsn': kept.lake.pg_dsn})
        try:
            assert say(holder, 'BEGIN; LOCK TABLE ducklake_table IN ACCESS SHARE MODE; SELECT 1') == '1'
            assert_error(kept.get('bob', server=other), 503, 'ServiceUnavailableException')
        finally:
            holder.kill()
        assert wait_until(lambda: kept.get('bob', server=other).status_code == 200, 20)


def test_a_login_that_postgresql_ends_for_a_writers_sake_is_made_in_a_second_attempt(kept):
    """Each holds what the other waits for. The writer's session waits too long to be the one that finds it out."""
    kept.ask(f'GRANT SET ON PARAMETER deadlock_timeout TO {kept.owner}')
    kept.ask(f"ALTER ROLE {kept.owner} SET deadlock_timeout TO '3s'")
    waits = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'ducklake_table'::regclass"
    with Watched.beside(kept.stack, **{**kept.settings, 'LAKEPROXY_READER_GROUP_ROLE': f'{kept.database}_clash'}) as other, \
            concurrent.futures.ThreadPoolExecutor() as pool:
        writer = session({'ducklake_dsn': kept.lake.pg_dsn})
        try:
            assert say(writer, "SET deadlock_timeout TO '1min'; BEGIN; LOCK TABLE ducklake_table IN ACCESS SHARE MODE; SELECT 1") == '1'
            answer = pool.submit(kept.get, 'bob', server=other)
            assert wait_until(lambda: kept.ask(waits) == '1', 20)
            assert say(writer, 'LOCK TABLE lakeproxy_reader IN SHARE ROW EXCLUSIVE MODE; COMMIT; SELECT 2') == '2'
            assert answer.result().status_code == 200, answer.result().text
        finally:
            writer.kill()
            kept.ask(f'ALTER ROLE {kept.owner} RESET deadlock_timeout')


def test_without_row_security_everybody_gets_the_owners_login(kept):
    with Watched.beside(kept.stack, **{**kept.settings, 'LAKEPROXY_RLS': '0'}) as unsafe:
        answer = kept.vend('bob', server=unsafe)
        assert answer['pg_role'] == kept.owner and answer['pg_valid_until'] is None and answer['s3'] is None
        assert HUSH in told(answer, 'SELECT * FROM ducklake_table')
        assert unsafe.log.read_text().count('LAKEPROXY_RLS') == 2, 'at the start and at the vend'
