"""The catalog API beyond single tables and commits: keys, time travel, names, pages, reports."""
import concurrent.futures
import json
import re
import time

import pyarrow as pa
import pytest
import requests

from rest import Rest, assert_error, keyed, new_key, table_body


@pytest.fixture
def rest(lake):
    return Rest.of(lake)


def table_path(schema, name):
    return f'namespaces/{schema}/tables/{name}'


def appended(duck, schema, name, count=3):
    """A table of `count` snapshots; snapshot n has the rows 0 to n-1."""
    duck.execute(f'CREATE TABLE lake.{schema}.{name} (a BIGINT)')
    for number in range(count):
        duck.execute(f'INSERT INTO lake.{schema}.{name} VALUES ({number})')


# Idempotency-Key

def test_the_lifetime_of_keys_is_announced(lake):
    config = requests.get(f'{lake.uri}/v1/config', timeout=30).json()
    assert re.fullmatch(r'PT\d+H', config['idempotency-key-lifetime'])


def test_a_change_that_comes_again_is_made_once(rest, duck, schema):
    duck.execute(f'CREATE TABLE lake.{schema}.t (a BIGINT)')
    body = {'requirements': [], 'updates': [{'action': 'set-properties', 'updates': {'n': '1'}}]}
    key = keyed()
    first = rest.post(table_path(schema, 't'), body, **key)
    assert first.status_code == 200
    other = {'requirements': [], 'updates': [{'action': 'set-properties', 'updates': {'n': '2'}}]}
    assert rest.post(table_path(schema, 't'), other, **keyed()).status_code == 200
    again = rest.post(table_path(schema, 't'), body, **key)
    assert again.status_code == 200
    assert again.json()['metadata']['properties']['n'] == '2', 'the first change is not made again'
    assert_error(rest.post(table_path(schema, 't'), other, **key), 422)


def test_each_kind_of_change_tells_its_first_answer_again(rest, schema):
    name = f'{schema}_{new_key()[-6:]}'
    source = {'namespace': [name], 'name': 'a'}
    target = {'namespace': [name], 'name': 'b'}
    changes = [
        ('POST', 'namespaces', {'namespace': [name], 'properties': {'owner': 'me'}}, 200),
        ('POST', f'namespaces/{name}/properties', {'removals': ['owner', 'none'], 'updates': {'k': 'v'}}, 200),
        ('POST', f'namespaces/{name}/tables', table_body('a'), 200),
        ('POST', 'tables/rename', {'source': source, 'destination': target}, 204),
        ('DELETE', table_path(name, 'b'), None, 204),
        ('DELETE', f'namespaces/{name}', None, 204),
    ]
    for method, path, body, status in changes:
        key = keyed()
        first = rest.send(method, path, json=body, **key)
        again = rest.send(method, path, json=body, **key)
        assert first.status_code == again.status_code == status, (path, first.text, again.text)
        assert first.text == again.text, path
        plain = rest.send(method, path, json=body)
        assert path.endswith('properties') or plain.status_code in (404, 409), 'the change was made'


def test_a_refusal_is_told_again_when_the_reason_is_gone(rest, duck, schema):
    key = keyed()
    assert_error(rest.send('DELETE', table_path(schema, 't'), **key), 404)
    duck.execute(f'CREATE TABLE lake.{schema}.t (a BIGINT)')
    assert_error(rest.send('DELETE', table_path(schema, 't'), **key), 404)
    assert rest.send('DELETE', table_path(schema, 't'), **keyed()).status_code == 204


@pytest.mark.parametrize('key', ['', 'x', '00000000-0000-4000-8000-000000000000', '0' * 36])
def test_a_key_of_another_form_is_refused(rest, key):
    assert_error(rest.post('namespaces', {'namespace': ['never_made']}, headers={'Idempotency-Key': key}), 400)
    assert rest.send('HEAD', 'namespaces/never_made').status_code == 404


def test_many_at_once_with_one_key_make_one_change(rest, schema):
    key = keyed()
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: rest.post(f'namespaces/{schema}/tables', table_body('t'), **key),
                                range(8)))
    assert [answer.status_code for answer in answers] == [200] * 8
    assert len({answer.json()['metadata']['table-uuid'] for answer in answers}) == 1


# LoadTable

def test_a_table_is_loaded_as_of_a_snapshot(rest, duck, catalog, schema):
    appended(duck, schema, 't')
    duck.execute(f'ALTER TABLE lake.{schema}.t ADD COLUMN b VARCHAR')
    duck.execute(f"INSERT INTO lake.{schema}.t VALUES (9, 'x')")
    path = table_path(schema, 't')
    snapshots = rest.get(path).json()['metadata']['snapshots']
    assert len(snapshots) == 4
    for count, snapshot in enumerate(snapshots, 1):
        at = rest.get(path, params={'snapshot-id': snapshot['snapshot-id']}).json()['metadata']
        assert at['current-snapshot-id'] == at['refs']['main']['snapshot-id'] == snapshot['snapshot-id']
        assert len(at['snapshots']) == len(at['snapshot-log']) == count
        columns = next(s for s in at['schemas'] if s['schema-id'] == at['current-schema-id'])['fields']
        assert [column['name'] for column in columns] == (['a'] if count < 4 else ['a', 'b'])
    refs = rest.get(path, params={'snapshot-id': snapshots[1]['snapshot-id'], 'snapshots': 'refs'}).json()
    assert [s['snapshot-id'] for s in refs['metadata']['snapshots']] == [snapshots[1]['snapshot-id']]


def test_the_snapshot_that_a_client_named_is_found_by_that_name(rest, catalog, schema):
    table = catalog.create_table(f'{schema}.t', pa.schema([('a', pa.int64())]))
    for number in range(2):
        table.append(pa.table({'a': [number]}))
    first = rest.get(table_path(schema, 't')).json()['metadata']['snapshots'][0]
    own = first['summary']['lakeproxy-client-snapshot-id']
    assert own != str(first['snapshot-id'])
    at = rest.get(table_path(schema, 't'), params={'snapshot-id': own}).json()['metadata']
    assert at['current-snapshot-id'] == first['snapshot-id']


@pytest.mark.parametrize('snapshot, status', [
    ('0', 404), ('-1', 404), ('9223372036854775807', 404), ('9223372036854775808', 400), ('', 400),
    ('x', 400), ('1.0', 400), ('+1', 400), ('1 ', 400), ('0x1', 400)])
def test_a_snapshot_that_is_not_there_is_refused(rest, duck, schema, snapshot, status):
    appended(duck, schema, 't', 1)
    assert_error(rest.get(table_path(schema, 't'), params={'snapshot-id': snapshot}), status)


def test_each_form_of_a_table_has_its_own_tag(rest, duck, schema):
    appended(duck, schema, 't')
    path = table_path(schema, 't')
    ids = [s['snapshot-id'] for s in rest.get(path).json()['metadata']['snapshots']]
    forms = [{}, {'snapshots': 'refs'}, *({'snapshot-id': i} for i in ids),
             {'snapshot-id': ids[0], 'snapshots': 'refs'}]
    tags = [rest.get(path, params=form).headers['ETag'] for form in forms]
    assert len(set(tags)) == len(forms)
    for form, tag in zip(forms, tags, strict=True):
        for other in tags:
            status = rest.get(path, params=form, headers={'If-None-Match': other}).status_code
            assert status == (304 if other == tag else 200)


def test_tags_are_among_the_refs(rest, duck, schema):
    appended(duck, schema, 't')
    path = table_path(schema, 't')
    ids = [s['snapshot-id'] for s in rest.get(path).json()['metadata']['snapshots']]
    tag = {'action': 'set-snapshot-ref', 'ref-name': 'first', 'type': 'tag', 'snapshot-id': ids[0]}
    assert rest.post(path, {'requirements': [], 'updates': [tag]}).status_code == 200
    refs = rest.get(path, params={'snapshots': 'refs'}).json()['metadata']
    assert {s['snapshot-id'] for s in refs['snapshots']} == {ids[0], ids[2]}
    at = rest.get(path, params={'snapshot-id': ids[1], 'snapshots': 'refs'}).json()['metadata']
    assert {s['snapshot-id'] for s in at['snapshots']} == {ids[0], ids[1]}


def test_the_views_on_the_way_to_a_table_may_be_named(rest, duck, schema):
    appended(duck, schema, 't', 1)
    views = {'referenced-by': 'prod\x1fviews\x1fquarterly,prod\x1fviews\x1fmonthly'}
    assert rest.get(table_path(schema, 't'), params=views).status_code == 200


def test_a_snapshot_id_is_used_once(rest, catalog, schema):
    table = catalog.create_table(f'{schema}.t', pa.schema([('a', pa.int64())]))
    table.append(pa.table({'a': [1]}))
    snapshot = rest.get(table_path(schema, 't')).json()['metadata']['snapshots'][0]
    used = int(snapshot['summary']['lakeproxy-client-snapshot-id'])
    add = {'action': 'add-snapshot', 'snapshot': {**snapshot, 'snapshot-id': used}}
    main = {'action': 'set-snapshot-ref', 'ref-name': 'main', 'type': 'branch', 'snapshot-id': used}
    began = time.monotonic()
    answer = rest.post(table_path(schema, 't'), {'requirements': [], 'updates': [add, main]})
    assert_error(answer, 409)
    assert str(used) in answer.json()['error']['message'] and time.monotonic() - began < 1


# Names

def rename(rest, source, target, **request):
    split = [dict(zip(('namespace', 'name'), ([*name.split('.')[:-1]], name.split('.')[-1]), strict=True))
             for name in (source, target)]
    return rest.post('tables/rename', {'source': split[0], 'destination': split[1]}, **request)


def test_a_table_moves_to_another_namespace(rest, duck, catalog, schema):
    duck.execute(f'CREATE SCHEMA IF NOT EXISTS lake.{schema}_to')
    duck.execute(f'DROP TABLE IF EXISTS lake.{schema}_to.moved')
    appended(duck, schema, 't', 2)
    duck.execute(f'INSERT INTO lake.{schema}.t SELECT n FROM range(2, 50) r(n)')
    location = rest.get(table_path(schema, 't')).json()['metadata']['location']
    before = duck.execute("SELECT max(snapshot_id) FROM ducklake_snapshots('lake')").fetchone()[0]
    assert rename(rest, f'{schema}.t', f'{schema}_to.moved').status_code == 204
    moved = rest.get(table_path(f'{schema}_to', 'moved')).json()['metadata']
    assert moved['location'] == location and len(moved['snapshots']) == 3
    assert_error(rest.get(table_path(schema, 't')), 404)
    duck.execute(f'INSERT INTO lake.{schema}_to.moved SELECT n FROM range(50, 100) r(n)')
    table = catalog.load_table(f'{schema}_to.moved')
    table.append(pa.table({'a': [100]}))
    rows = sorted(row for row, in duck.execute(f'FROM lake.{schema}_to.moved').fetchall())
    assert rows == sorted(table.scan().to_arrow()['a'].to_pylist()) == list(range(101))
    then = duck.execute(f'SELECT count(*) FROM lake.{schema}.t AT (VERSION => {before})').fetchone()
    assert then == (50,)
    assert rename(rest, f'{schema}_to.moved', f'{schema}.back').status_code == 204
    assert duck.execute(f'SELECT count(*) FROM lake.{schema}.back').fetchone() == (101,)


def test_renames_that_are_refused(rest, duck, schema):
    appended(duck, schema, 't', 1)
    appended(duck, schema, 'other', 1)
    duck.execute(f'CREATE VIEW lake.{schema}.v AS SELECT 1 AS a')
    for target, status in ((f'{schema}.t', 409), (f'{schema}.other', 409), (f'{schema}.v', 409),
                           (f'{schema}.__mask_t', 400), (f'{schema}.__MASK_t', 400), ('nowhere.t', 404)):
        assert_error(rename(rest, f'{schema}.t', target), status)
    assert_error(rename(rest, f'{schema}.v', f'{schema}.w'), 404)
    assert rest.send('HEAD', table_path(schema, 't')).status_code == 204


# Namespaces and pages

def pages(rest, path, member, size, **params):
    token, seen = '', []
    while token is not None:
        page = rest.get(path, params={**params, 'pageSize': size, 'pageToken': token}).json()
        assert len(page[member]) <= size
        seen += page[member]
        token = page['next-page-token']
    return seen


ODD_NAMES = ['dotted.name', 'slash/name', 'per%cent', 'ünïcode', '日本', "quo'te", 'quo"te', 'sp ace', 'x' * 255,
             'Case', 'back\\slash', 'a@b', '\U0001f9ca']


def test_odd_names_are_kept_as_they_are(rest, schema):
    made = []
    for name in ODD_NAMES:
        levels = [schema, name]
        assert rest.post('namespaces', {'namespace': levels}).status_code == 200, name
        path = 'namespaces/' + requests.utils.quote('\x1f'.join(levels), safe='')
        assert rest.get(path).json()['namespace'] == levels
        assert rest.post(f'{path}/tables', table_body(name)).status_code == 200
        table = f'{path}/tables/' + requests.utils.quote(name, safe='')
        assert rest.get(table).status_code == 200
        assert rest.get(f'{path}/tables').json()['identifiers'] == [{'namespace': levels, 'name': name}]
        made.append((path, table))
    listed = pages(rest, 'namespaces', 'namespaces', 4, parent=schema)
    assert sorted(listed) == sorted([schema, name] for name in ODD_NAMES)
    assert_error(rest.send('DELETE', f'namespaces/{schema}'), 409)
    for path, table in made:
        assert_error(rest.send('DELETE', path), 409)
        assert rest.send('DELETE', table).status_code == 204
        assert rest.send('DELETE', path).status_code == 204
    assert rest.get('namespaces', params={'parent': schema}).json()['namespaces'] == []


@pytest.mark.parametrize('levels', [['x' * 256], ['a', ''], ['a\x1fb'], ['a\x00'], ['a\n'], ['a'] * 17, 'a', [['a']]])
def test_namespaces_that_cannot_be_named_are_refused(rest, levels):
    assert_error(rest.post('namespaces', {'namespace': levels}), 400)


@pytest.mark.parametrize('path', ['namespaces', 'namespaces/{}/tables'])
@pytest.mark.parametrize('size', ['0', '-1', '10001', '1.5', 'x', '', '99999999999999999999'])
def test_page_sizes_that_are_none_are_refused(rest, schema, path, size):
    assert_error(rest.get(path.format(schema), params={'pageSize': size}), 400)


@pytest.mark.parametrize('path', ['namespaces', 'namespaces/{}/tables'])
@pytest.mark.parametrize('token', ['x', 'after', 'AFTER:a', 'after:\x00', 'after:%ff', "after:' OR 1=1"])
def test_page_tokens_do_no_harm(rest, schema, path, token):
    url = path.format(schema) + '?pageSize=5&pageToken=' + token.replace('\x00', '%00').replace(' ', '+')
    answer = rest.get(url)
    if answer.status_code != 200:
        assert_error(answer, 400)


def test_a_page_that_begins_after_the_end_is_empty(rest, duck, schema):
    appended(duck, schema, 't', 1)
    page = rest.get(f'namespaces/{schema}/tables', params={'pageSize': 1, 'pageToken': 'after:zzz'}).json()
    assert page == {'identifiers': [], 'next-page-token': None}
    page = rest.get(f'namespaces/{schema}/tables', params={'pageSize': 1, 'pageToken': ''}).json()
    assert [table['name'] for table in page['identifiers']] == ['t'] and page['next-page-token'] is None


def test_namespace_properties_come_and_go(rest, schema):
    path = f'namespaces/{schema}'
    location = rest.get(path).json()['properties']['location']
    set_two = rest.post(f'{path}/properties', {'updates': {'a': '1', 'b': '2'}, 'removals': []})
    assert set_two.json() == {'updated': ['a', 'b'], 'removed': [], 'missing': []}
    changed = rest.post(f'{path}/properties', {'updates': {'b': '3'}, 'removals': ['a', 'none']})
    assert changed.json() == {'updated': ['b'], 'removed': ['a'], 'missing': ['none']}
    assert rest.get(path).json()['properties'] == {'b': '3', 'location': location}
    assert_error(rest.post(f'{path}/properties', {'updates': {'b': '1'}, 'removals': ['b']}), 422)
    assert_error(rest.post(f'{path}/properties', {'updates': {'lakeproxy.x': '1'}}), 403)
    assert_error(rest.post(f'{path}/properties', {'removals': ['lakeproxy.x']}), 403)
    assert_error(rest.post(f'{path}/properties', {}), 400)
    assert_error(rest.post('namespaces/nowhere/properties', {'updates': {'a': '1'}}), 404)
    assert rest.get(path).json()['properties'] == {'b': '3', 'location': location}


# Reports, credentials, configuration

SCAN = {'report-type': 'scan-report', 'table-name': 't', 'snapshot-id': 1, 'filter': True, 'schema-id': 0,
        'projected-field-ids': [1], 'projected-field-names': ['a'],
        'metrics': {'result-data-files': {'unit': 'count', 'value': 3},
                    'total-planning-duration': {'count': 1, 'time-unit': 'nanoseconds', 'total-duration': 5},
                    'invented': {'unit': 'count', 'value': 1}}}


def measure(lake, series):
    text = requests.get(f'{lake.uri}/metrics', timeout=30).text
    return sum(float(line.split()[-1]) for line in text.splitlines() if line.startswith(series))


def test_reports_are_counted(lake, rest, duck, schema):
    appended(duck, schema, 't', 1)
    path = table_path(schema, 't') + '/metrics'
    files = 'lakeproxy_client_reported_total{measure="result-data-files",report="scan"}'
    before = measure(lake, files), measure(lake, 'lakeproxy_client_reports_total{report="scan"}')
    assert rest.post(path, SCAN).status_code == 204
    after = measure(lake, files), measure(lake, 'lakeproxy_client_reports_total{report="scan"}')
    assert (after[0] - before[0], after[1] - before[1]) == (3, 1)
    assert 'invented' not in requests.get(f'{lake.uri}/metrics', timeout=30).text
    for wrong in ({**SCAN, 'report-type': 'x'}, {**SCAN, 'metrics': None}, {**SCAN, 'snapshot-id': 'x'},
                  {**SCAN, 'metrics': {'m': {'unit': 'count', 'value': -1}}}, {'report-type': 'commit-report'}):
        assert_error(rest.post(path, wrong), 400)
    assert_error(rest.post(table_path(schema, 'nowhere') + '/metrics', SCAN), 404)
    assert measure(lake, files) == after[0]


def test_spark_reports_its_scans_and_commits(lake, spark, duck, schema):
    duck.execute(f'CREATE TABLE lake.{schema}.t (a BIGINT)')
    def reports(kind):
        return measure(lake, f'lakeproxy_client_reports_total{{report="{kind}"}}')
    before = reports('scan'), reports('commit')
    spark.sql(f'INSERT INTO lake.{schema}.t VALUES (1), (2)')
    assert spark.sql(f'SELECT sum(a) FROM lake.{schema}.t').collect()[0][0] == 3
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and not (reports('scan') > before[0] and reports('commit') > before[1]):
        time.sleep(0.1)
    assert reports('scan') > before[0] and reports('commit') > before[1]


def test_credentials_are_asked_for_apart(lake, rest, duck, schema):
    appended(duck, schema, 't', 1)
    path = table_path(schema, 't')
    answer = rest.get(f'{path}/credentials', params={'planId': 'p', 'referenced-by': 'a\x1fv'})
    assert answer.status_code == 200
    credentials = answer.json()['storage-credentials']
    vended = rest.get(path, headers={'X-Iceberg-Access-Delegation': 'vended-credentials'}).json()['config']
    assert [one['config'] for one in credentials] == [vended], 'the same posture as with LoadTable'
    assert vended['s3.access-key-id'] != lake.s3_access_key
    assert 's3.access-key-id' not in rest.get(path).json()['config']
    assert_error(rest.get(table_path(schema, 'nowhere') + '/credentials'), 404)


# The log of metadata files

def test_the_log_names_the_metadata_files_that_were_before(rest, catalog, duck, schema):
    appended(duck, schema, 't', 1)
    shown = [rest.get(table_path(schema, 't')).json()]
    for number in range(3):
        body = {'requirements': [], 'updates': [{'action': 'set-properties', 'updates': {'n': str(number)}}]}
        shown.append(rest.post(table_path(schema, 't'), body).json())
    last = shown[-1]
    log = last['metadata']['metadata-log']
    assert [entry['metadata-file'] for entry in log[-3:]] == [table['metadata-location'] for table in shown[:-1]]
    times = [entry['timestamp-ms'] for entry in log]
    assert times == sorted(times) and times[-1] <= last['metadata']['last-updated-ms']
    files = catalog.load_table((schema, 't')).io
    kept = [json.loads(files.new_input(entry['metadata-file']).open().read()) for entry in log]
    assert [file['last-updated-ms'] for file in kept] == times
    assert [file['properties'] for file in kept[-3:]] == [table['metadata']['properties'] for table in shown[:-1]]


def test_a_commit_without_requirements_has_no_conditions(rest, duck, schema):
    duck.execute(f'CREATE TABLE lake.{schema}.t (a BIGINT)')
    change = [{'action': 'set-properties', 'updates': {'n': '1'}}]
    for body in ({'updates': change}, {'requirements': None, 'updates': change}):
        answer = rest.post(table_path(schema, 't'), body)
        assert answer.status_code == 200, answer.text
        assert answer.json()['metadata']['properties']['n'] == '1'
    together = {'table-changes': [{'identifier': {'namespace': [schema], 'name': 't'}, 'updates': change}]}
    assert rest.post('transactions/commit', together).status_code == 204
    for wrong in ({'requirements': {}, 'updates': change}, {'requirements': 'none', 'updates': change}, {'requirements': []}):
        assert_error(rest.post(table_path(schema, 't'), wrong), 400)
