"""Long work of one kind, and what clients ask for meanwhile: it holds up nobody but those who wait for it."""
import concurrent.futures
import contextlib

import pyarrow as pa
import requests

from faults.changes import ROWS, SCHEMA, commit_body, rows
from faults.reader import Reader, counted
from faults.servers import SECONDS, Faulty, lake_of, own_stack
from oracle import avro_files, commits
from oracle.avro_files import EQUALITY_DELETES
from stack.process import wait_until

COMMIT, BACKGROUND, COUNT = 32, 33, 34  # lakeproxy/engine/files/engine_pool.h
FLUSHED = 12  # lakeproxy/maintenance/compaction/compactor.h
ONE_LOOP = {'LAKEPROXY_WORKERS': '1', 'LAKEPROXY_DISABLE_NOTIFY': '1'}
IMPATIENT = 8  # seconds; a request that waits for a connection gives up after 5


@contextlib.contextmanager
def server_with(suffix, **settings):
    """A server with one event loop, and a lake with two tables, each of one batch in a file."""
    with own_stack(suffix, LAKEPROXY_DISABLE_NOTIFY='1') as stack, Faulty(stack, {**ONE_LOOP, **settings}) as server:
        reader = Reader(stack, lake_of(stack))
        reader.iceberg.create_namespace('faults')
        for name in ('one', 'other'):
            reader.iceberg.create_table(f'faults.{name}', SCHEMA).append(rows(1))
            assert load(server, name).status_code == 200
        yield server, reader


def url(server, name):
    return f'{server.uri()}/v1/lake/namespaces/faults/tables/{name}'


def load(server, name):
    return requests.get(url(server, name), timeout=IMPATIENT)


def insert(reader, name, batch):
    """A row that DuckDB keeps in PostgreSQL."""
    reader.duck.execute(f'INSERT INTO lake.faults.{name} VALUES ({batch}, 0)')


def equality_delete(server, reader, name):
    """Takes the first row of each batch away; the answer."""
    table = reader.load(name)
    keys = pa.table({'row': [0]}, schema=pa.schema([commits.numbered('row', pa.int64(), table.schema().find_field('row').field_id)]))
    spec = table.spec()
    like = commits.Live(spec.spec_id, avro_files.entry_schema(table, spec), commits.new_entry({'partition': {}}))
    snapshot = commits.Snapshot(table, 'delete')
    snapshot.add([commits.delete_file(table, keys, EQUALITY_DELETES, like, [table.schema().find_field('row').field_id])])
    return requests.post(url(server, name), json=commit_body(table, snapshot.updates(), commits.main_was(table)), timeout=SECONDS)


def demand_service(server, reader):
    """A load after a commit of DuckDB, and a commit; both at once and right."""
    insert(reader, 'other', 2)
    shown = load(server, 'other')
    assert shown.status_code == 200
    assert len(shown.json()['metadata']['snapshots']) == 2
    assert equality_delete(server, reader, 'other').status_code == 200
    assert reader.agreed('other') == {1: ROWS - 1}


@contextlib.contextmanager
def under_way(server, job, call, *arguments):
    """A call whose job does not end before the block does; its answer comes after it."""
    with concurrent.futures.ThreadPoolExecutor(1) as sender:
        server.arm(job, 'pause')
        answer = sender.submit(call, *arguments)
        paused = server.await_pause(job)
        try:
            yield answer
            assert not answer.done()
        finally:
            paused.unlink()


def test_a_load_does_not_wait_for_an_equality_delete():
    with server_with('held-commit') as (server, reader):
        with under_way(server, COMMIT, equality_delete, server, reader, 'one') as answer:
            insert(reader, 'other', 2)
            shown = load(server, 'other')
            assert shown.status_code == 200
            assert len(shown.json()['metadata']['snapshots']) == 2
        assert answer.result(SECONDS).status_code == 200
        assert reader.agreed('one') == {1: ROWS - 1}
        assert reader.agreed('other') == {1: ROWS, 2: 1}


def test_requests_do_not_wait_for_nan_counts():
    with server_with('held-count') as (server, reader):
        reader.duck.execute('CREATE TABLE lake.faults.floats AS SELECT range::DOUBLE AS x FROM range(1000)')
        with under_way(server, COUNT, load, server, 'floats') as answer:
            demand_service(server, reader)
        assert answer.result(SECONDS).status_code == 200


def test_requests_do_not_wait_for_what_is_prepared():
    """Of the tables that a commit of DuckDB has changed the first one's files are not made: loads of others make their own."""
    with server_with('held-eager', LAKEPROXY_DISABLE_NOTIFY='0') as (server, reader):
        metrics = f'{server.uri()}/metrics'
        assert wait_until(lambda: 'lakeproxy_eager_listener 1' in requests.get(metrics, timeout=SECONDS).text, SECONDS)
        server.arm(BACKGROUND, 'pause')
        insert(reader, 'one', 2)
        paused = server.await_pause(BACKGROUND)
        demand_service(server, reader)
        paused.unlink()
        assert counted(reader.load('one')) == {1: ROWS, 2: 1}
        assert load(server, 'one').status_code == 200


def test_a_compaction_leaves_requests_their_connections():
    """It holds a transaction open for as long as it takes."""
    with server_with('held-compaction', LAKEPROXY_PG_CONNECTIONS='1') as (server, reader):
        insert(reader, 'one', 2)
        compact = f'{server.uri()}/v1/lake/admin/namespaces/faults/tables/one/compact'
        with under_way(server, FLUSHED, lambda: requests.post(compact, timeout=SECONDS)) as answer:
            demand_service(server, reader)
            # One at a time, which is told before it takes anything.
            assert requests.post(compact.replace('/one/', '/other/'), timeout=IMPATIENT).status_code == 503
        assert answer.result(SECONDS).status_code == 200
        assert reader.agreed('one') == {1: ROWS, 2: 1}
