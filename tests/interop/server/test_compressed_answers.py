"""A table's answers as gzip: to whom, with which bytes, and that every client reads what it read before."""
import gzip
import json
import re
import subprocess
import threading
import zlib

import pyarrow as pa
import pytest
import requests

import readers as lake_readers
from agreement import assert_agree
from by_hand import Watched
from rest import Rest, keyed, table_body

GZIP = {'Accept-Encoding': 'gzip'}
PLAIN = {'Accept-Encoding': 'identity'}


@pytest.fixture
def rest(lake):
    return Rest.of(lake)


@pytest.fixture
def path(duck, schema):
    """A table whose answer is large enough."""
    duck.execute(f'CREATE TABLE lake.{schema}.t (a INTEGER, s VARCHAR)')
    for number in range(5):
        duck.execute(f"INSERT INTO lake.{schema}.t VALUES ({number}, 'row')")
    return f'namespaces/{schema}/tables/t'


def raw(rest, method, path, headers, body=None, **parameters):
    """Status, headers and the bytes as they came."""
    with requests.Session() as session:
        session.headers.clear()
        answer = session.request(method, rest.url(path), headers=headers, json=body, params=parameters, timeout=30,
                                 stream=True)
        return answer.status_code, answer.headers, answer.raw.read(decode_content=False)


def counted(uri, name):
    text = requests.get(f'{uri}/metrics', timeout=30).text
    return int(re.search(rf'^{re.escape(name)} (\d+)$', text, re.MULTILINE)[1])


def bytes_sent(uri, operation, encoding='gzip'):
    return counted(uri, f'lakeproxy_http_response_bytes_total{{encoding="{encoding}",operation="{operation}"}}')


@pytest.mark.parametrize('accepted, coding', [
    ('gzip', 'gzip'), ('gzip, deflate, br', 'gzip'), ('x-gzip', 'gzip'), ('*', 'gzip'), ('gzip;q=0.1, identity;q=0', 'gzip'),
    ('identity;q=0, *', 'gzip'), (None, None), ('', None), ('identity', None), ('br, deflate', None), ('gzip;q=0', None),
    ('gzip;q=0.5, identity', None), ('gzip;q=0, *', None), ('*;q=0', None), ('gzip;q=', None)])
@pytest.mark.parametrize('form', [{}, {'snapshots': 'refs'}])
def test_the_client_chooses_the_coding(rest, path, accepted, coding, form):
    _, _, plain = raw(rest, 'GET', path, {}, **form)
    status, headers, body = raw(rest, 'GET', path, {} if accepted is None else {'Accept-Encoding': accepted}, **form)
    assert status == 200 and headers.get('Content-Encoding') == coding
    assert headers['Vary'] == 'Accept-Encoding' and headers['Content-Type'] == 'application/json'
    assert int(headers['Content-Length']) == len(body)
    assert (gzip.decompress(body) if coding else body) == plain
    assert (len(body) < len(plain)) == bool(coding)


def test_one_gzip_member_holds_all(rest, path):
    """Some clients read no further than the first."""
    _, _, plain = raw(rest, 'GET', path, {})
    _, _, body = raw(rest, 'GET', path, GZIP)
    member = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    assert member.decompress(body) == plain and member.eof and member.unused_data == b''


def test_what_the_config_says_is_not_compressed(rest, path, lake):
    """It may be a secret, and beside words of the table's writer its length would tell of it (BREACH)."""
    _, _, body = raw(rest, 'GET', path, GZIP)
    config = json.loads(gzip.decompress(body))['config']
    assert f'"s3.endpoint":"{lake.s3_endpoint}"'.encode() in body and config['s3.endpoint'] == lake.s3_endpoint
    assert b'"format-version"' not in body


def test_a_short_answer_stays_as_it_is(rest, schema):
    """But to a client that takes nothing else."""
    rest.post(f'namespaces/{schema}/tables', table_body('short'))
    path = f'namespaces/{schema}/tables/short'
    _, headers, body = raw(rest, 'GET', path, GZIP)
    assert (len(body) < 1024) == ('Content-Encoding' not in headers)
    _, headers, body = raw(rest, 'GET', path, {'Accept-Encoding': 'gzip, identity;q=0'})
    assert headers['Content-Encoding'] == 'gzip' and json.loads(gzip.decompress(body))['metadata']


def test_a_head_has_no_body_and_no_coding(rest, path):
    for headers in (GZIP, PLAIN):
        status, answered, body = raw(rest, 'HEAD', path, headers)
        assert status == 204 and body == b'' and 'Content-Encoding' not in answered


def test_errors_and_other_answers_stay_as_they_are(rest, schema, path):
    for other in (f'{path}-none', 'namespaces', f'namespaces/{schema}', f'namespaces/{schema}/tables'):
        _, headers, body = raw(rest, 'GET', other, GZIP)
        assert 'Content-Encoding' not in headers and json.loads(body)


def test_either_coding_knows_the_state_that_the_other_brought(rest, duck, schema, path):
    tags = {name: raw(rest, 'GET', path, coding)[1]['ETag'] for name, coding in (('gzip', GZIP), ('plain', PLAIN))}
    other_form = raw(rest, 'GET', path, GZIP, snapshots='refs')[1]['ETag']
    assert tags['gzip'] == tags['plain'] != other_form and tags['gzip'].startswith('W/"'), 'equal in content, not in bytes'
    strong = tags['gzip'].removeprefix('W/')
    for coding in (GZIP, PLAIN):
        for named in (tags['gzip'], strong, f'"x", {tags["gzip"]}', '*'):
            status, headers, body = raw(rest, 'GET', path, {**coding, 'If-None-Match': named})
            assert status == 304 and headers['ETag'] == tags['gzip'] and headers['Vary'] == 'Accept-Encoding'
            assert body == b'' and 'Content-Encoding' not in headers and 'Content-Length' not in headers
        for named in (other_form, '"x"', strong.strip('"')):
            assert raw(rest, 'GET', path, {**coding, 'If-None-Match': named})[0] == 200
    duck.execute(f"INSERT INTO lake.{schema}.t VALUES (9, 'row')")
    for coding in (GZIP, PLAIN):
        assert raw(rest, 'GET', path, {**coding, 'If-None-Match': tags['gzip']})[0] == 200


def test_a_tag_of_a_server_that_told_another_config_is_not_taken(stack, lake, rest, path):
    """The state is the same, what the client was told of the store is not."""
    tag = rest.get(path).headers['ETag']
    assert rest.get(path, headers={'If-None-Match': tag}).status_code == 304
    with Watched.beside(stack, LAKEPROXY_DISABLE_NOTIFY='1') as server:
        other = Rest(server.uri(), lake.warehouse)
        told = other.get(path, headers={'If-None-Match': tag})
        assert told.status_code == 200 and told.json()['config']['s3.endpoint'] == server.wire.endpoint()
        assert told.json()['metadata-location'] == rest.get(path).json()['metadata-location']
        assert other.get(path, headers={'If-None-Match': told.headers['ETag']}).status_code == 304


def test_commits_and_what_is_told_again_are_packed_too(rest, path):
    change = {'requirements': [], 'updates': [{'action': 'set-properties', 'updates': {'k': 'v' * 2000}}]}
    key = keyed()['headers']
    first = raw(rest, 'POST', path, {**GZIP, **key}, change)
    again = raw(rest, 'POST', path, {**GZIP, **key}, change)
    plain = raw(rest, 'POST', path, {**PLAIN, **key}, change)
    assert [answer[0] for answer in (first, again, plain)] == [200] * 3
    assert first[1]['Content-Encoding'] == again[1]['Content-Encoding'] == 'gzip'
    assert gzip.decompress(first[2]) == gzip.decompress(again[2]) == plain[2]
    assert json.loads(plain[2])['metadata']['properties']['k'] == 'v' * 2000


def test_a_created_and_a_registered_table_are_packed_too(rest, schema):
    made = raw(rest, 'POST', f'namespaces/{schema}/tables', GZIP, table_body('made', properties={'k': 'v' * 2000}))
    assert made[1]['Content-Encoding'] == 'gzip'
    place = json.loads(gzip.decompress(made[2]))['metadata-location']
    assert rest.send('DELETE', f'namespaces/{schema}/tables/made').status_code == 204
    back = raw(rest, 'POST', f'namespaces/{schema}/register', GZIP, {'name': 'made', 'metadata-location': place})
    assert back[0] == 200 and back[1]['Content-Encoding'] == 'gzip', back
    assert json.loads(gzip.decompress(back[2]))['metadata']['properties']['k'] == 'v' * 2000


def test_a_state_is_packed_once_and_counted_in_the_memory_that_it_takes(stack, lake, duck, schema, path):
    """Also a large one that many ask for at once."""
    filler = {str(number): f'{number * 7919}' * 20 for number in range(3000)}
    assert Rest.of(lake).post(path, {'requirements': [], 'updates': [
        {'action': 'set-properties', 'updates': filler}]}).status_code == 200
    with Watched.beside(stack, LAKEPROXY_DISABLE_NOTIFY='1') as server:
        rest = Rest(server.uri(), lake.warehouse)
        plain = raw(rest, 'GET', path, PLAIN)[2]
        assert len(plain) > 256 * 1024, 'large enough to be packed beside the event loop'
        held = counted(server.uri(), 'lakeproxy_metadata_cache_bytes')
        assert counted(server.uri(), 'lakeproxy_metadata_packed_total') == 0
        bodies = []
        asking = [threading.Thread(target=lambda: bodies.append(raw(rest, 'GET', path, GZIP)[2])) for _ in range(8)]
        for thread in asking:
            thread.start()
        for thread in asking:
            thread.join()
        assert len(bodies) == 8 and len(set(bodies)) == 1 and gzip.decompress(bodies[0]) == plain
        assert counted(server.uri(), 'lakeproxy_metadata_packed_total') == 1
        # What is kept ends before "config": the head of a stored block, the text and two numbers are made for each answer.
        own = 5 + len(plain) - plain.rindex(b',"config":') + 8
        assert counted(server.uri(), 'lakeproxy_metadata_cache_bytes') == held + len(bodies[0]) - own
        assert bytes_sent(server.uri(), 'loadTable') == 8 * len(bodies[0])
        assert bytes_sent(server.uri(), 'loadTable', 'identity') == len(plain)
        raw(rest, 'GET', path, GZIP, snapshots='refs')
        duck.execute(f"INSERT INTO lake.{schema}.t VALUES (9, 'row')")
        raw(rest, 'GET', path, GZIP)
        assert counted(server.uri(), 'lakeproxy_metadata_packed_total') == 3, 'another form, and another state'


def test_curl_reads_the_same(rest, path):
    command = ['curl', '--silent', '--show-error', '--fail', '--max-time', '30', rest.url(path)]
    plain = subprocess.run(command, check=True, capture_output=True).stdout
    before = bytes_sent(rest.uri, 'loadTable')
    assert subprocess.run([*command, '--compressed'], check=True, capture_output=True).stdout == plain
    assert 0 < bytes_sent(rest.uri, 'loadTable') - before < len(plain)


ROWS = pa.table({'a': pa.array([7], pa.int32()), 's': ['py']})


def test_pyiceberg_takes_packed_answers(lake, catalog, truth, schema, path):
    before = bytes_sent(lake.uri, 'loadTable'), bytes_sent(lake.uri, 'updateTable')
    catalog.load_table(f'{schema}.t').append(ROWS)
    after = bytes_sent(lake.uri, 'loadTable'), bytes_sent(lake.uri, 'updateTable')
    assert after[0] > before[0] and after[1] > before[1]
    assert_agree(truth, [lake_readers.PyIceberg(catalog)], f'{schema}.t')


def test_spark_takes_packed_answers(lake, spark, truth, schema, path):
    """Java's client: what it commits on is what a packed answer said."""
    before = bytes_sent(lake.uri, 'loadTable'), bytes_sent(lake.uri, 'updateTable')
    spark.sql(f"INSERT INTO lake.{schema}.t VALUES (8, 'spark')")
    after = bytes_sent(lake.uri, 'loadTable'), bytes_sent(lake.uri, 'updateTable')
    assert after[0] > before[0] and after[1] > before[1]
    assert_agree(truth, [lake_readers.Spark(spark)], f'{schema}.t')


def test_duckdb_reads_the_same(duck_iceberg, truth, schema, path):
    """Its Iceberg extension (1.5.5) asks for no coding, and gets none."""
    assert_agree(truth, [lake_readers.DuckIceberg(duck_iceberg)], f'{schema}.t')
