"""What a client names that lies elsewhere is not read: not by the catalog, which the store's wire shows, and not by its
embedded engine. Data files elsewhere are recorded; a path is never a pattern, a local file or SQL."""
import http.server
import threading

import pyarrow as pa
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from by_hand import COLUMNS, Table, Watched, appending, deleting, deleting_equal, new_file, parquet, positions, rows_of, unread_file
from oracle import avro_files, commits
from own_lake import Objects, data_file, expire_and_clean, fill
from rest import assert_error


@pytest.fixture(scope='module')
def watched(stack):
    with Watched.beside(stack) as server:
        yield server


@pytest.fixture
def table(lake, catalog, duck, watched, schema):
    made = catalog.create_table(f'{schema}.t', COLUMNS)
    made.append(rows_of(made, range(5)))
    return Table(lake, catalog, duck, f'{schema}.t', watched.uri())


@pytest.fixture(scope='module')
def objects(stack):
    return Objects(stack)


@pytest.fixture
def web():
    """A web server on this machine; what it is asked for."""
    asked = []

    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_error(404)
        do_HEAD = do_POST = do_GET

        def log_message(self, *_):
            pass
    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f'http://127.0.0.1:{server.server_port}', asked
    server.shutdown()


def elsewhere(table, objects, lake):
    """Places that are not the table's; a sound list or manifest stands in each where one can."""
    here = table.load().location()
    return {
        'another prefix': f's3://{lake.s3_bucket}/canary/{table.name}.avro',
        'another table': f'{lake.data_path}canary/other/{table.name}.avro',
        'a name that only begins like ours': f'{here}-canary/x.avro',
        'another bucket': 's3://canary-bucket/x.avro',
        'up': f'{here}/../canary/x.avro',
        'twice a slash': f'{here}//canary/x.avro',
        'a local file': '/etc/passwd',
        'a local file as URL': 'file:///etc/passwd',
        'the web': 'http://127.0.0.1:9/canary.avro',
        'a query': f'{here}/metadata/x.avro?versionId=canary',
        'nothing': '',
    }


def put_where_it_can(lake, objects, place, content):
    begins = f's3://{lake.s3_bucket}/'
    if place.startswith(begins) and '?' not in place and '..' not in place and '//' not in place[len(begins):]:
        objects.put(place.removeprefix(begins), content)


def test_lists_and_manifests_are_read_from_the_tables_own_place_alone(lake, table, watched, objects):
    before = table.state()
    for name, place in elsewhere(table, objects, lake).items():
        for what in ('list', 'manifest'):
            snapshot = appending(table)
            if what == 'manifest':
                listed = snapshot.manifests[-1]
                put_where_it_can(lake, objects, place, avro_files.fetch(snapshot.loaded, listed['manifest_path']))
                listed['manifest_path'] = place
            updates = snapshot.updates()
            if what == 'list':
                added = updates[0]['snapshot']
                put_where_it_can(lake, objects, place, avro_files.fetch(snapshot.loaded, added['manifest-list']))
                added['manifest-list'] = place
            answer = table.post(updates)
            assert_error(answer, 400)
            assert table.state() == before, (name, what)
    asked = '\n'.join(watched.wire.asked)
    assert 'by-hand' in asked, 'the wire is listened to'
    assert 'canary' not in asked and 'passwd' not in asked and 'versionId' not in asked


def test_an_escape_in_a_place_is_a_part_of_its_name(table, watched):
    snapshot = appending(table)
    updates = snapshot.updates()
    updates[0]['snapshot']['manifest-list'] = f'{snapshot.loaded.location()}/%2e%2e/up.avro'
    assert_error(table.post(updates), 400)
    asked, = (path for path in watched.wire.asked if 'up.avro' in path)
    assert asked.endswith('/%252e%252e/up.avro')


PLACES = {
    'another prefix': 's3://lakehouse/canary/data.parquet',
    'another bucket': 's3://canary-bucket/data.parquet',
    'a local file': '{scratch}/canary.parquet',
    'a local file as URL': 'file://{scratch}/canary.parquet',
    'a pattern of local files': '{scratch}/*',
    'a relative path': '../../canary.parquet',
    'a pattern': 's3://lakehouse/canary/*.parquet',
    'SQL': "x'); ATTACH '/tmp/canary.db' AS canary; --",
}


@pytest.mark.parametrize('case', PLACES)
def test_a_data_file_elsewhere_is_recorded_never_read_and_never_removed(table, duck, watched, objects, tmp_path, case):
    """Neither by the catalog nor by DuckDB, whose clean-up removes with the rights of its caller."""
    place = PLACES[case].format(scratch=tmp_path)
    content = parquet(pa.table({'n': [1], 's': ['canary']}, schema=table.load().schema().as_arrow()))
    objects.put('canary/data.parquet', content)
    (tmp_path / 'canary.parquet').write_bytes(content)
    record_and_refuse_reading(table, watched, place)
    name_space = table.name.split('.')[0]
    fill(duck, f'{name_space}.gone')
    gone = data_file(duck, name_space, 'gone')
    duck.execute(f'DELETE FROM lake.{name_space}.gone')
    removed = expire_and_clean(duck)
    assert any(path.endswith(gone.split('/')[-1]) for path in removed), 'it does remove'
    assert not any('canary' in path or str(tmp_path) in path for path in removed)
    assert (tmp_path / 'canary.parquet').read_bytes() == content
    assert objects.exists('s3://lakehouse/canary/data.parquet')


def test_an_object_of_another_table_outlives_a_table_that_called_it_its_data_file(table, duck, lake, catalog, objects):
    """DuckDB's clean-up removes what the dropped table wrote itself, and nothing that it only named."""
    name_space = table.name.split('.')[0]
    other = catalog.create_table(f'{name_space}.other', COLUMNS)
    other.append(rows_of(other, range(3)))
    loaded = catalog.load_table(f'{name_space}.other')
    victims = [table_file.file.file_path for table_file in loaded.scan().plan_files()]
    victims += [loaded.metadata_location, loaded.current_snapshot().manifest_list]
    snapshot = table.snapshot()
    snapshot.add([unread_file(snapshot.loaded, place) for place in victims])
    answer = table.post(snapshot.updates())
    assert answer.status_code == 200, answer.text
    own = [path for path in (file.path for file in table.files()) if path not in victims]
    assert own and all(objects.exists(path) for path in own + victims)
    assert table.rest.send('DELETE', table.path).status_code == 204
    removed = expire_and_clean(duck)
    assert {path.split('/')[-1] for path in own} <= {path.split('/')[-1] for path in removed}, 'it does remove'
    assert all(objects.exists(path) for path in victims)
    assert duck.execute(f'SELECT count(*) FROM lake.{name_space}.other').fetchone() == (3,)


def test_a_data_file_of_the_web_is_recorded_and_never_read(table, watched, web):
    address, asked = web
    record_and_refuse_reading(table, watched, f'{address}/canary.parquet')
    assert asked == []


def record_and_refuse_reading(table, watched, place):
    begin = len(watched.wire.asked)
    snapshot = table.snapshot()
    snapshot.add([unread_file(snapshot.loaded, place)])
    answer = table.post(snapshot.updates())
    assert answer.status_code == 200, answer.text
    assert place in {file.path for file in table.files()}
    assert table.rest.get(table.path).json()['metadata']['snapshots'][-1]['summary']['total-records'] == '7'
    # A search of its rows would have to read it.
    loaded = table.load()
    keys = rows_of(loaded, [3]).select(['n'])
    equal = table.post(deleting_equal(table, field_ids(keys, loaded), [1]).updates())
    assert_error(equal, 400)
    assert place in equal.json()['error']['message']
    # Its positions are the client's word.
    kept = table.post(deleting(table, parquet(positions([(place, 0)]))).updates())
    assert kept.status_code == 200, kept.text
    assert table.rest.get(table.path).json()['metadata']['snapshots'][-1]['summary']['total-position-deletes'] == '1'
    # Nor is it looked for when the table is dropped with all that is its own.
    dropped = table.rest.send('DELETE', table.path + '?purgeRequested=true')
    assert dropped.status_code == 204, dropped.text
    asked = '\n'.join(watched.wire.asked[begin:])
    assert table.name.split('.')[0] in asked
    assert 'canary' not in asked and 'passwd' not in asked


@pytest.mark.parametrize('case', ['another prefix', 'a local file', 'the web'])
def test_compaction_leaves_a_data_file_elsewhere_alone(table, watched, web, objects, tmp_path, case):
    """DuckDB's engine is closed to it. The table is as it was, and the answer says why."""
    address, asked = web
    place = {**PLACES, 'the web': f'{address}/canary.parquet'}[case].format(scratch=tmp_path)
    loaded = table.load()
    objects.put('canary/data.parquet', parquet(rows_of(loaded, [8, 9])))
    loaded.append(rows_of(loaded, [5]))
    snapshot = table.snapshot()
    snapshot.add([unread_file(snapshot.loaded, place)])
    assert table.post(snapshot.updates()).status_code == 200
    table.load().append(rows_of(loaded, [6]))
    files = {file.path for file in table.files()}
    begin = len(watched.wire.asked)
    answer = table.rest.post('admin/namespaces/{}/tables/{}/compact'.format(*table.name.split('.')))
    assert answer.status_code == 200, answer.text
    told = answer.json()
    assert not told['complete'] and told['skipped'] == [
        {'step': 'merge', 'reason': "a file of the table lies outside of the catalog's prefix"}]
    assert {file.path for file in table.files()} == files
    assert asked == [] and 'canary' not in '\n'.join(watched.wire.asked[begin:])


def field_ids(rows, loaded):
    """As the delete file of a client has them."""
    fields = [commits.numbered(field.name, field.type, loaded.schema().find_field(field.name).field_id) for field in rows.schema]
    return pa.table(rows.columns, schema=pa.schema(fields))


NAMES = ["*.parquet", '{a,b}.parquet', '[ab].parquet', 'a b.parquet', "it's.parquet", '"quoted".parquet', "'); ATTACH 'x' AS y; --",
         '%2F.parquet', '$(x).parquet', 'ü.parquet', '**', 'a\\b.parquet', 'x=1.parquet', '+.parquet', '&.parquet']


def test_a_name_is_a_name_to_everyone(table, duck, objects):
    """Files whose names are patterns, SQL or escapes, beside ones that the patterns would match."""
    loaded = table.load()
    snapshot = table.snapshot()
    entries = []
    for number, name in enumerate([*NAMES, 'a.parquet', 'b.parquet']):
        file = new_file(loaded, [1000 + number, 2000 + number])
        content = avro_files.fetch(loaded, file.path)
        place = f'{loaded.location()}/data/{name}'
        objects.put(place.removeprefix(f's3://{objects.bucket}/'), content)
        file.file['file_path'] = place
        entries.append(file)
    snapshot.add(entries)
    answer = table.post(snapshot.updates())
    assert answer.status_code == 200, answer.text
    expected = {*range(5), *(base + n for n in range(len(entries)) for base in (1000, 2000))}
    assert seen(table) == expected
    # By positions, one row of each.
    pairs = sorted((file.path, 0) for file in entries)
    answer = table.post(deleting(table, parquet(positions(pairs)), record_count=len(pairs)).updates())
    assert answer.status_code == 200, answer.text
    expected -= {1000 + n for n in range(len(entries))}
    assert seen(table) == expected
    # By values, one row of every other file.
    gone = [2000 + n for n in range(0, len(entries), 2)]
    keys = field_ids(rows_of(loaded, gone).select(['n']), loaded)
    answer = table.post(deleting_equal(table, keys, [1]).updates())
    assert answer.status_code == 200, answer.text
    assert seen(table) == expected - set(gone)


def seen(table):
    found = set(table.load().scan().to_arrow()['n'].to_pylist())
    assert found == {n for n, _ in table.rows()}
    return found


def test_columns_named_like_sql_are_columns(lake, catalog, duck, watched, schema):
    names = ['x"; ATTACH \'canary\' AS y; --', "'); DROP TABLE t; --", 'a.b', 'select', 'k0', 'é\n', 'file_path', 'pos']
    fields = [NestedField(n + 1, name, LongType(), required=False) for n, name in enumerate(names)]
    made = catalog.create_table(f'{schema}.named', Schema(*fields))
    table = Table(lake, catalog, duck, f'{schema}.named', watched.uri())
    columns = made.schema().as_arrow()
    made.append(pa.table([[n, n + 10] for n in range(len(names))], schema=columns))
    for number, name in enumerate(names):
        made = table.load()
        made.append(pa.table([[100 + number] for _ in names], schema=columns))
        rows = field_ids(pa.table({name: pa.array([100 + number], pa.int64())}), made)
        answer = table.post(deleting_equal(table, rows, [number + 1]).updates())
        assert answer.status_code == 200, (name, answer.text)
        assert table.load().scan().to_arrow().num_rows == 2, name
    assert len(table.rows()) == 2


@pytest.mark.parametrize('kind', ['position deletes', 'equality deletes'])
def test_a_file_of_the_lake_outlives_a_commit_that_calls_it_its_delete_file(table, kind, watched):
    """What a client adds as a delete file is removed behind the answer, but for what the lake needs."""
    loaded = table.load()
    live = table.files()[0]
    if kind == 'equality deletes':
        # All rows of the data file itself, by their values.
        snapshot = deleting(table, None, 2, place=live.path, equality_ids=[1], record_count=5,
                            file_size_in_bytes=live.file['file_size_in_bytes'])
        left = 0
    else:
        assert table.post(deleting(table, parquet(positions([(live.path, 0)]))).updates()).status_code == 200
        ours = commits.live(table.load())[1][0]
        stored, = table.duck.execute(f"SELECT delete_file FROM ducklake_list_files('lake', 't', schema => '{table.name[:-2]}')").fetchone()
        content = avro_files.fetch(loaded, stored)
        assert ours.path == stored or ours.file['record_count'] == 1
        snapshot = deleting(table, None, 1, place=stored, record_count=1, file_size_in_bytes=len(content))
        live, left = commits.Live(0, {}, {'data_file': {'file_path': stored}}), 4
    answer = table.post(snapshot.updates())
    assert answer.status_code == 200, answer.text
    table.load().append(rows_of(loaded, [77]))  # Behind it the removal of the first is done.
    assert loaded.io.new_input(live.path).exists()
    assert len(table.rows()) == table.load().scan().to_arrow().num_rows == left + 1
    assert loaded.scan().to_arrow().num_rows == 5
