"""From a tag to its proof: an analyst and a steward ask the same of each engine, then of the store, and the catalog says why."""
import json

import pyarrow as pa
from minio import Minio
from minio.error import S3Error

from lake_clients import duck, iceberg, spark
from tour import agent, principals
from tour.show import say, show_statement, show_table

TABLE = 'tour.people'
COLUMNS = 'id, name, ssn, region'
QUERY = f'SELECT {COLUMNS} FROM {{}} ORDER BY id'
TAG = {'tag-namespace': 'tour', 'tag-name': 'ssn'}
MASK = {'name': 'tour_last_four', 'signature': '(v VARCHAR)', 'body': "'***-**-' || right(v, 4)", 'unmasked-roles': ['tour_steward']}
READERS = ('analyst', 'steward')


def show(stack, lake, session):
    """Spark takes seconds to start: `session` is there already."""
    make_table(lake)
    acting = agent.make(stack.folder / 'tour', principals.LAKE_NAME)
    with principals.beside(stack, lake, acting) as known:
        say('Governance: an administrator tags a column, writes a mask for the tag, and a filter of rows')
        write_policies(known['admin'])
        say('A mask that the reader applies: DuckDB on the lake, as ducklake-credentials lets each in')
        show_side_by_side('DuckDB on the lake', use_duckdb_on_the_lake(known))
        say('The same mask in the files: now it holds whatever the reader does')
        post(known['admin'], 'masking-policies', {**MASK, 'file-layer-masking': True})
        show_statement('each engine', QUERY.format(TABLE))
        found = use_engines(known, session)
        show_side_by_side('engine', found)
        show_refusal(known)
        say("The store itself: one data file, asked for with the keys that each got with the table")
        show_keys(known, lake)
        say('Why: the administrator asks for the policies in force')
        show_reasons(known['admin'])
        agent.show(acting, known, lake, TABLE, found['PyIceberg']['steward'])


def make_table(lake):
    """Once: a table that is made anew in the folder of a dropped one is not opened to DuckDB's readers."""
    connection = duck.connect_lake(lake)
    for statement in (
            'CREATE SCHEMA IF NOT EXISTS lake.tour',
            f'CREATE TABLE IF NOT EXISTS lake.{TABLE} (id BIGINT, name VARCHAR, ssn VARCHAR, region VARCHAR)',
            # Rows in a file of DuckDB's own, which the store is asked for.
            "CALL lake.set_option('data_inlining_row_limit', 0, schema => 'tour', table_name => 'people')",
            f"""INSERT INTO lake.{TABLE} SELECT * FROM (VALUES
                (1, 'Ada', '536-22-1180', 'eu'), (2, 'Ben', '402-71-5523', 'us'), (3, 'Cleo', '219-09-0207', 'eu')) AS people
                WHERE NOT EXISTS (FROM lake.{TABLE})"""):
        connection.execute(statement)
    connection.close()


def post(admin, collection, body):
    show_statement('admin', f'POST governance/{collection} {json.dumps(body)}')
    admin.post(f'governance/{collection}', body)


def write_policies(admin):
    post(admin, 'tags', {'namespace': 'tour', 'name': 'ssn'})
    post(admin, 'object-tags', {'object-kind': 'column', 'schema': 'tour', 'object': 'people', 'column': 'ssn', **TAG})
    post(admin, 'masking-policies', MASK)
    post(admin, 'policy-attachments', {'policy-kind': 'masking', 'policy-name': MASK['name'], 'target-kind': 'tag', **TAG})
    post(admin, 'row-access-policies', {'name': 'tour_eu_only', 'signature': '(region VARCHAR)', 'body': "region = 'eu'",
                                        'unmasked-roles': ['tour_steward']})
    post(admin, 'policy-attachments', {'policy-kind': 'row_access', 'policy-name': 'tour_eu_only', 'target-kind': 'table',
                                       'schema': 'tour', 'object': 'people'})
    post(admin, 'role-grants', {'role': 'tour_steward', 'principal': 'steward'})


def use_duckdb_on_the_lake(known):
    """By the table's name alone, which the session's statements make the masked one, and by its whole name."""
    found = {f'FROM {name}': {} for name in ('people', f'lake.{TABLE}')}
    for reader in READERS:
        connection = duck.connect_direct(known[reader].get('namespaces/tour/ducklake-credentials'), 'tour')
        for name, rows in found.items():
            rows[reader] = connection.execute(QUERY.format(name.removeprefix('FROM '))).fetchall()
        connection.close()
    return found


def use_engines(known, session):
    found = {'PyIceberg': {}, 'DuckDB Iceberg': {}, 'Spark': {}}
    for reader in READERS:
        principal = known[reader]
        principal.keys('people')  # waits for the masked copies
        table = iceberg.connect(principal.lake).load_table(TABLE)
        found['PyIceberg'][reader] = [tuple(row.values()) for row in table.scan().to_arrow().sort_by('id').to_pylist()]
        connection = duck.connect_catalog(principal.lake)
        found['DuckDB Iceberg'][reader] = connection.execute(QUERY.format(f'ice.{TABLE}')).fetchall()
        connection.close()
        name = spark.add_catalog(session, principal.lake, f'tour_{reader}')
        found['Spark'][reader] = [tuple(row) for row in session.sql(QUERY.format(f'{name}.{TABLE}')).collect()]
    return found


def show_side_by_side(heading, found):
    """A line for each row, the readers beside each other."""
    lines = {heading: [], **{reader: [] for reader in READERS}}
    for name, rows in found.items():
        for at in range(max(len(rows[reader]) for reader in READERS)):
            lines[heading].append('' if at else name)
            for reader in READERS:
                row = rows[reader][at] if at < len(rows[reader]) else ()
                lines[reader].append('{}  {:<4}  {}  {}'.format(*row) if row else '')
    show_table(pa.table(lines))


def show_refusal(known):
    path = 'namespaces/tour/ducklake-credentials?table=people'
    for reader in READERS:
        answer = known[reader].send('GET', path)
        message = '' if answer.ok else answer.json()['error']['message']
        show_statement(reader, f'GET {path}   {answer.status_code} {message}'.rstrip())


def show_keys(known, lake):
    table = iceberg.connect(known['steward'].lake).load_table(TABLE)
    location = next(iter(table.scan().plan_files())).file.file_path
    for reader in READERS:
        show_statement(reader, f'GET {location}   {status_of(lake, known[reader].keys("people"), location)}')


def status_of(lake, keys, location):
    """What the store answers to a request that these keys sign."""
    store = Minio(lake.s3_endpoint.removeprefix('http://'), access_key=keys['s3.access-key-id'], secret_key=keys['s3.secret-access-key'],
                  session_token=keys['s3.session-token'], secure=False, region=lake.s3_region)
    try:
        answer = store.get_object(lake.s3_bucket, location.removeprefix(f's3://{lake.s3_bucket}/'))
    except S3Error as refusal:
        return f'{refusal.response.status} {refusal.code}'
    answer.close()
    answer.release_conn()
    return str(answer.status)


def show_reasons(admin):
    rows = []
    for reader in READERS:
        path = f'governance/effective-policies?table={TABLE}&principal={reader}'
        show_statement('admin', f'GET {path}')
        answer = admin.get(path)
        plan = answer['enforcement']
        reached = [(one['column'], plan['masks'].get(one['column']), one['masking_policies']) for one in answer['column_masks']]
        reached.append(('rows', plan['row_filter'], answer['row_access_policies']))
        rows += [{'principal': reader, 'of': of, 'policy': policy['name'], 'why': policy['why'],
                  'in force': 'lifted by its role' if policy['bypassed'] else sql}
                 for of, sql, policies in reached for policy in policies]
    show_table(pa.Table.from_pylist(rows))
