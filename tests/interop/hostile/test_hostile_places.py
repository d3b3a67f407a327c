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
    'another bucket': 's3://canary-bucket/data.parquet',
    'a local file': '{scratch}/canary.parquet',
    'a local file as URL': 'file://{scratch}/canary.parquet',
    'a pattern of local files': '{scratch}/*',
    'a relative path': '../../canary.parquet',
    'a pattern': 's3://canary-bucket/*.parquet',
    'SQL': "x'); ATTACH '/tmp/canary.db' AS canary; --",
}


@pytest.mark.parametrize('case', PLACES)
def test_a_data_file_elsewhere_is_recorded_never_read_and_never_removed(table, duck, watched, tmp_path, case):
    """Neither by the catalog nor by DuckDB, whose clean-up removes with the rights of its caller."""
    place = PLACES[case].format(scratch=tmp_path)
    content = parquet(pa.table({'n': [1], 's': ['canary']}, schema=table.load().schema().as_arrow()))
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


@pytest.fixture
def victim(table, catalog):
    """Another table of three rows; nobody gives it away."""
    made = catalog.create_table(f'{table.name}_victim', COLUMNS)
    made.append(rows_of(made, range(3)))
    return catalog.load_table(f'{table.name}_victim')


def field_ids(rows, loaded):
    """As the delete file of a client has them."""
    fields = [commits.numbered(field.name, field.type, loaded.schema().find_field(field.name).field_id) for field in rows.schema]
    return pa.table(rows.columns, schema=pa.schema(fields))


def puffin_at(table, place):
    return deleting(table, None, place=place, suffix='puffin', content_offset=4, content_size_in_bytes=40,
                    referenced_data_file=table.files()[0].path, file_size_in_bytes=100)


NAMED = {
    'a data file': lambda table, place: adding(table, place),
    'a position-delete file': lambda table, place: deleting(table, None, place=place, file_size_in_bytes=100),
    'an equality-delete file': lambda table, place: deleting(table, None, 2, place=place, equality_ids=[1], file_size_in_bytes=100),
    'a deletion vector': puffin_at,
}


def adding(table, place, **changes):
    snapshot = table.snapshot()
    snapshot.add([unread_file(snapshot.loaded, place, **changes)])
    return snapshot


@pytest.mark.parametrize('kind', NAMED)
def test_a_file_of_another_table_is_neither_recorded_nor_read(table, victim, watched, kind):
    """By which rows vanish, or are there, its owner's values would be told."""
    theirs, = (task.file.file_path for task in victim.scan().plan_files())
    places = [theirs, victim.metadata_location, victim.current_snapshot().manifest_list, theirs.replace('s3://', 's3a://'),
              theirs.replace('s3://', 'S3://'), theirs.replace('/data/', '//data/'), theirs + '?versionId=1',
              f'{table.load().location()}/../{theirs.split("/", 5)[5]}', f's3://lakehouse/canary/{table.name}.parquet']
    before = table.state()
    for place in places:
        updates = NAMED[kind](table, place).updates()
        begin = len(watched.wire.asked)
        answer = table.post(updates)
        assert_error(answer, 400)
        assert 'LAKEPROXY_FILE_PREFIXES' in answer.json()['error']['message'], answer.text
        assert not [path for path in watched.wire.asked[begin:] if path.endswith(place.rsplit('/', 1)[1])], place
        assert table.state() == before


@pytest.fixture
def opened(stack, lake, table, catalog, duck):
    """The table at a server whose administrator lets clients add what lies below two folders."""
    folders = f's3://{lake.s3_bucket}/shared/,{lake.data_path}{table.name.split(".")[0]}/'
    with Watched.beside(stack, LAKEPROXY_FILE_PREFIXES=folders) as server:
        made = Table(lake, catalog, duck, table.name, server.uri())
        made.wire = server.wire
        yield made


def test_an_administrator_lets_files_come_from_elsewhere(opened, table, objects):
    loaded = table.load()
    place = f's3://{objects.bucket}/shared/{table.name}.parquet'
    content = parquet(field_ids(rows_of(loaded, [70, 71]), loaded))
    objects.put(place.split('/', 3)[3], content)
    assert_error(opened.post(adding(opened, place.replace('/shared/', '/shared-not/')).updates()), 400)
    answer = opened.post(adding(opened, place, file_size_in_bytes=len(content)).updates())
    assert answer.status_code == 200, answer.text
    assert seen(table) == {*range(5), 70, 71}


def test_a_searched_file_must_be_the_tables_or_the_lakes(opened, table, duck, objects, watched):
    loaded = table.load()
    inside = f'{loaded.location()}-beside/x.parquet'
    objects.put(inside.split('/', 3)[3], parquet(field_ids(rows_of(loaded, [80, 81]), loaded)))
    file = adding(opened, inside, file_size_in_bytes=len(avro_files.fetch(loaded, inside)))
    assert opened.post(file.updates()).status_code == 200
    keys = field_ids(rows_of(loaded, [80]).select(['n']), loaded)
    begin = len(watched.wire.asked)
    refused = table.post(deleting_equal(table, keys, [1]).updates())
    assert_error(refused, 400)
    assert inside in refused.json()['error']['message']
    assert not [path for path in watched.wire.asked[begin:] if path.endswith('-beside/x.parquet')]
    assert opened.post(deleting_equal(opened, keys, [1]).updates()).status_code == 200
    assert seen(table) == {*range(5), 81}


def test_what_the_lakes_own_clients_add_is_searched_wherever_it_lies(table, duck, objects, lake):
    loaded = table.load()
    place = f'{loaded.location()}-ducks/x.parquet'
    objects.put(place.split('/', 3)[3], parquet(rows_of(loaded, [90, 91])))
    duck.execute(f"CALL ducklake_add_data_files('lake', 't', '{place}', schema => '{table.name[:-2]}')")
    keys = field_ids(rows_of(loaded, [90]).select(['n']), loaded)
    answer = table.post(deleting_equal(table, keys, [1]).updates())
    assert answer.status_code == 200, answer.text
    assert {n for n, _ in table.rows()} == {*range(5), 91}


def test_an_object_of_another_table_outlives_a_table_that_called_it_its_data_file(opened, victim, duck, objects):
    """DuckDB's clean-up removes what the dropped table wrote itself, and nothing that it only named."""
    table, loaded = opened, victim
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
    assert duck.execute(f'SELECT count(*) FROM lake.{table.name}_victim').fetchone() == (3,)


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


@pytest.mark.parametrize('case', ['another bucket', 'a local file', 'the web'])
def test_compaction_leaves_a_data_file_elsewhere_alone(table, watched, web, tmp_path, case):
    """DuckDB's engine is closed to it. The table is as it was, and the answer says why."""
    address, asked = web
    place = {**PLACES, 'the web': f'{address}/canary.parquet'}[case].format(scratch=tmp_path)
    loaded = table.load()
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


def staging(table, name, location=None, made_as=None):
    """Updates that end the creation of a table that the client places itself."""
    levels, _ = table.name.split('.')
    body = {'name': name, 'stage-create': True, 'schema': {'type': 'struct', 'fields': [
        {'id': 1, 'name': 'n', 'type': 'long', 'required': False}]}}
    staged = table.rest.post(f'namespaces/{levels}/tables', body).json()['metadata']
    return {'requirements': [{'type': 'assert-create'}], 'updates': [
        {'action': 'assign-uuid', 'uuid': made_as or staged['table-uuid']}, {'action': 'upgrade-format-version', 'format-version': 2},
        {'action': 'add-schema', 'schema': staged['schemas'][0]}, {'action': 'set-current-schema', 'schema-id': -1},
        {'action': 'add-spec', 'spec': {'spec-id': 0, 'fields': []}}, {'action': 'set-default-spec', 'spec-id': -1},
        {'action': 'set-location', 'location': location or staged['location']}]}


def test_a_staged_table_lies_in_no_other_tables_folder(table, victim, duck):
    levels, _ = table.name.split('.')
    theirs = victim.location()
    view = table.rest.post(f'namespaces/{levels}/views', {
        'name': 'v', 'schema': {'type': 'struct', 'fields': []}, 'properties': {}, 'view-version': {
            'version-id': 1, 'timestamp-ms': 1, 'schema-id': 0, 'summary': {}, 'default-namespace': [levels],
            'representations': [{'type': 'sql', 'sql': 'SELECT 1', 'dialect': 'duckdb'}]}})
    name_space = table.rest.get(f'namespaces/{levels}').json()['properties']['location'].rstrip('/')
    refused = [theirs, theirs + '/', f'{theirs}/data', f'{theirs}/metadata', f'{theirs}/data/deep/er', theirs.replace('s3://', 's3a://'),
               name_space, f'{name_space}/', f'{name_space}/../x', theirs.rsplit('/', 2)[0]]
    if view.status_code == 200:
        refused.append(view.json()['metadata']['location'])
    for location in refused:
        answer = table.rest.post(f'namespaces/{levels}/tables/placed', staging(table, 'placed', location))
        assert_error(answer, 400)
        assert 'set-location' in answer.json()['error']['message'], location
    assert table.rest.send('HEAD', f'namespaces/{levels}/tables/placed').status_code == 404
    # Around another one: a folder below which a table lies already.
    inner = f'{name_space}/outer/inner'
    assert table.rest.post(f'namespaces/{levels}/tables/inner', staging(table, 'inner', inner)).status_code == 200
    for location in (f'{name_space}/outer', f'{name_space}/outer/inner/more'):
        assert_error(table.rest.post(f'namespaces/{levels}/tables/placed', staging(table, 'placed', location)), 400)
    for location in (f'{name_space}/outer/inner-not', f'{name_space}/oute', None):
        name = f'placed{len(location or "")}'
        assert table.rest.post(f'namespaces/{levels}/tables/{name}', staging(table, name, location)).status_code == 200


def test_the_uuid_of_another_table_does_not_bring_its_folder(table, victim, catalog):
    """The server's rule makes the folder of name and UUID; the victim has been renamed since."""
    levels, name = victim.name()
    catalog.rename_table(f'{levels}.{name}', f'{levels}.renamed')
    body = staging(table, name, None, str(victim.metadata.table_uuid))
    body['updates'].pop()
    assert_error(table.rest.post(f'namespaces/{levels}/tables/{name}', body), 400)
