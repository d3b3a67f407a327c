"""What a query of an agent reads of tables: the rows that are left of them, and no more bytes than the statement needs. docs/tools/lake.md."""
import json
import secrets

import pyarrow as pa
import pytest

from by_hand import Watched
from governed import Bearer
from rest import Rest
from row_ids import make_table
from test_agents import LAKE_NAME, answered, said, token_of
from tool_stack.lake_agent import LakeAgent, McpUser

MERGE_ON_READ = {f'write.{kind}.mode': 'merge-on-read' for kind in ('delete', 'update', 'merge')}


@pytest.fixture(scope='module')
def agent(tmp_path_factory):
    return LakeAgent(tmp_path_factory.mktemp('agent'), 'agents', LAKE_NAME)


@pytest.fixture(scope='module')
def space(duck):
    """A namespace that the service may read."""
    name = f'files_{secrets.token_hex(3)}'
    duck.execute(f'CREATE SCHEMA lake.{name}')
    duck.execute(f"CALL lake.set_option('data_inlining_row_limit', 0, schema => '{name}')")
    return name


@pytest.fixture(scope='module')
def server(stack, agent, space, tmp_path_factory):
    clients = tmp_path_factory.mktemp('clients') / 'clients.json'
    clients.touch(mode=0o600)
    clients.write_text(json.dumps([{'id': 'admin', 'secret': 's', 'scope': '*'}, {'id': 'dana', 'secret': 's', 'scope': 'ns:*:r'},
                                   agent.client(f'ns:{space}:r', ['dana'])]))
    with Watched.beside(stack, LAKEPROXY_OAUTH_CLIENTS_FILE=str(clients), LAKEPROXY_OAUTH_ISSUER=LAKE_NAME,
                        LAKEPROXY_OAUTH_JWT_SECRET='for tests alone: 32 bytes and more of it') as made:
        yield made


@pytest.fixture(scope='module')
def dana(agent, server):
    service = agent.service(server.uri(), server.wire.endpoint()).start()
    yield McpUser(service, 'dana')
    service.stop()


@pytest.fixture(scope='module')
def rest(lake):
    return Rest.of(lake)


def rows_of(answer):
    return sorted(tuple(row) for row in answer['rows'])


def arrow_rows(table):
    return sorted(tuple(row.values()) for row in table.to_pylist())


class Fetched:
    """The bytes of a table's data files that are fetched from now on, and the files."""

    def __init__(self, wire, table):
        self.wire, self.part, self.at = wire, f'/{table}/', len(wire.ranges)

    def __iter__(self):
        return iter([(path.partition('?')[0], count) for path, count in self.wire.ranges[self.at:]
                     if self.part in path and '.parquet' in path])

    def bytes(self):
        return sum(count for _, count in self)

    def files(self):
        return len({path for path, _ in self})


@pytest.mark.parametrize('version', ['2', '3'])
def test_rows_are_those_that_clients_left(rest, duck, spark, catalog, dana, space, version):
    """By position deletes in version 2, by deletion vectors in version 3; each client deletes in its own way."""
    table = make_table(rest, space, f'gone_{version}', version, **MERGE_ON_READ)
    sql = f'SELECT a, s FROM {table}'

    def assert_same(kind=None):
        truth = arrow_rows(catalog.load_table(table).scan().to_arrow())
        assert truth == sorted(duck.execute(f'SELECT a, s FROM lake.{table}').fetchall())
        for first in range(0, max(row[0] for row in truth) + 1, 4000):
            wanted = [row for row in truth if first <= row[0] < first + 4000]
            assert rows_of(answered(dana, 'lake.query', sql=f'{sql} WHERE a BETWEEN $1 AND $2', params=[first, first + 3999])) == wanted
        assert answered(dana, 'lake.query', sql=f'SELECT count(*) FROM {table}')['rows'] == [[len(truth)]]
        planned = rest.post(f'namespaces/{space}/tables/gone_{version}/plan', {}).json()
        forms = {file['file-format'] for file in planned.get('delete-files', [])}
        assert kind is None or forms == kind, forms

    form = {'2': {'parquet'}, '3': {'puffin'}}[version]
    duck.execute(f"INSERT INTO lake.{table} SELECT i, 's' || i FROM range(6000) r(i)")
    duck.execute(f"INSERT INTO lake.{table} SELECT i, 't' || i FROM range(6000, 9000) r(i)")
    assert_same(set())
    duck.execute(f'DELETE FROM lake.{table} WHERE a % 7 = 0')
    assert_same(form)
    spark.sql(f'DELETE FROM lake.{table} WHERE a % 5 = 1')
    spark.sql(f"UPDATE lake.{table} SET s = 'u' WHERE a % 100 = 2")
    assert_same(form)
    if version == '2':  # it writes no tables of version 3
        loaded = catalog.load_table(table)
        loaded.append(pa.table({'a': pa.array([20_000, 20_001]), 's': ['py', 'iceberg']}))
        loaded.delete('a < 20')
        assert_same()
    duck.execute(f'DELETE FROM lake.{table} WHERE a IN (20001, 8999) OR a BETWEEN 3000 AND 5999')
    assert_same(form)


def test_masks_hold_where_rows_are_deleted_by_vectors(rest, server, duck, dana, space):
    table = make_table(rest, space, 'masked_gone', '3')
    admin = Bearer(server.uri(), 'lake', token_of(server, 'admin'))
    for collection, body in (
            ('masking-policies', {'name': f'last_{space}', 'signature': '(v VARCHAR)', 'body': "'*' || right(v, 1)", 'unmasked-roles': [f'nobody_{space}']}),
            ('policy-attachments', {'policy-kind': 'masking', 'policy-name': f'last_{space}', 'target-kind': 'column', 'schema': space,
                                    'object': 'masked_gone', 'column': 's'})):
        assert (answer := admin.post(f'governance/{collection}', body)).status_code == 200, answer.text
    duck.execute(f"INSERT INTO lake.{table} SELECT i, 's' || i FROM range(50) r(i)")
    duck.execute(f'DELETE FROM lake.{table} WHERE a >= 5 OR a = 2')
    assert rows_of(answered(dana, 'lake.query', sql=f'SELECT a, s FROM {table}')) == [(0, '*0'), (1, '*1'), (3, '*3'), (4, '*4')]
    # By a value that is not shown nothing is found, also no file.
    assert answered(dana, 'lake.query', sql=f"SELECT a FROM {table} WHERE s = 's3'")['rows'] == []
    assert answered(dana, 'lake.query', sql=f"SELECT a FROM {table} WHERE s = '*3'")['rows'] == [[3]]


@pytest.fixture(scope='module')
def wide(duck, space):
    columns = ', '.join(f'hash(i * {number} + {number})::VARCHAR AS c{number}' for number in range(49))
    duck.execute(f'CREATE TABLE lake.{space}.wide AS SELECT i AS id, {columns} FROM range(40000) r(i)')
    return 'wide'


def data_bytes(duck, table):
    """Of the files that a table has now."""
    (total,) = duck.execute(f"SELECT sum(data_file_size_bytes) FROM ducklake_list_files('lake', '{table.partition('.')[2]}', "
                            f"schema => '{table.partition('.')[0]}')").fetchone()
    return int(total)


def test_one_column_of_fifty_is_fetched(server, duck, dana, space, wide, record_property):
    sql = 'SELECT count(*), min(c7), max(c7), count(DISTINCT c7) FROM {}.wide'
    assert answered(dana, 'lake.query', sql=f'SELECT count(*) FROM {space}.wide')['rows'] == [[40000]]
    whole, fetched = data_bytes(duck, f'{space}.wide'), Fetched(server.wire, 'wide')
    (truth,) = duck.execute(sql.format(f'lake.{space}')).fetchall()
    assert answered(dana, 'lake.query', sql=sql.format(space))['rows'] == [list(truth)]
    record_property('fetched', f'{fetched.bytes()} of {whole} bytes')
    print(f'one column of fifty: {fetched.bytes()} of {whole} bytes')
    assert 0 < fetched.bytes() < whole / 15
    counted = Fetched(server.wire, 'wide')
    assert answered(dana, 'lake.query', sql=f'SELECT count(*) FROM {space}.wide')['rows'] == [[40000]]
    assert counted.bytes() <= 2 * 65536, 'footers alone'
    # A star is all of them: the same rows, all bytes.
    everything = Fetched(server.wire, 'wide')
    row = answered(dana, 'lake.query', sql=f'SELECT * FROM {space}.wide WHERE id = 77')['rows']
    assert row == [list(one) for one in duck.execute(f'SELECT * FROM lake.{space}.wide WHERE id = 77').fetchall()]
    assert everything.bytes() >= whole * 0.9


def test_a_table_larger_than_a_query_may_fetch_is_read_by_its_columns(agent, server, duck, space, wide):
    """The bound is on what is fetched; beyond it the answer says what to do."""
    whole = data_bytes(duck, f'{space}.wide')
    small = LakeAgent(agent.folder.parent / 'small', 'agents', LAKE_NAME)
    small.key, small.secret = agent.key, agent.secret
    service = small.service(server.uri(), server.wire.endpoint(), max_file_bytes=max(1 << 20, whole // 5)).start()
    try:
        user = McpUser(service, 'dana')
        assert answered(user, 'lake.query', sql=f'SELECT count(c3) FROM {space}.wide')['rows'] == [[40000]]
        assert 'connectors.lake.max_file_bytes' in said(user.call('lake.query', sql=f'SELECT * FROM {space}.wide'))
    finally:
        service.stop()


def test_files_without_a_row_of_the_question_are_not_fetched(server, duck, dana, space):
    duck.execute(f"CREATE TABLE lake.{space}.days(id BIGINT, since DATE, moment TIMESTAMP, kind VARCHAR, price DOUBLE)")
    for part in range(10):
        duck.execute(f"INSERT INTO lake.{space}.days SELECT {part} * 1000 + i, DATE '2026-01-01' + {part}::INTEGER, "
                     f"TIMESTAMP '2026-01-01 08:00:00' + INTERVAL ({part}) DAY, 'k{part}', CASE WHEN i = 0 THEN 'nan'::DOUBLE ELSE i END "
                     "FROM range(1000) r(i)")
    # What the lake itself reads of new files it has read then.
    assert answered(dana, 'lake.query', sql=f'SELECT count(*) FROM {space}.days')['rows'] == [[10_000]]
    for where, params, files in (
            ('id BETWEEN 3000 AND 3999', [], 1), ('id = $1', [4500], 1), ("kind IN ('k1', 'k2')", [], 2), ("since >= DATE '2026-01-09'", [], 2),
            ("since = '2026-01-05'", [], 1), ("moment < TIMESTAMP '2026-01-02 12:00:00' AND kind > 'k0'", [], 1), ('id = 5 OR id = 9999', [], 10),
            ('price > 5000', [], 10), ('id < 0', [], 0), ('id IS NULL', [], 0)):
        fetched = Fetched(server.wire, 'days')
        sql = f'SELECT count(*), sum(id)::BIGINT FROM {{}}.days WHERE {where}'
        (truth,) = duck.execute(sql.format(f'lake.{space}'), params).fetchall()
        assert answered(dana, 'lake.query', sql=sql.format(space), params=params)['rows'] == [list(truth)], where
        assert fetched.files() == files, where
        print(f'{where}: {fetched.files()} of 10 files, {fetched.bytes()} bytes')
    # Each reading of a table has its own question.
    twice = 'SELECT count(*) FROM {0}.days WHERE id < 10 UNION ALL SELECT count(*) FROM {0}.days WHERE id >= 9000 ORDER BY 1'
    assert answered(dana, 'lake.query', sql=twice.format(space))['rows'] == [[10], [1000]]
    joined = "SELECT count(*) FROM {0}.days a LEFT JOIN {0}.wide b USING (id) WHERE b.id IS NULL AND a.id >= 2000"
    (truth,) = duck.execute(joined.format(f'lake.{space}')).fetchall()
    assert answered(dana, 'lake.query', sql=joined.format(space))['rows'] == [list(truth)]
