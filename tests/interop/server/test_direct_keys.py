"""The keys to the store that come with a login: what they open, and when they end."""
import io
import time

import pytest
import requests

from by_hand import Watched
from direct_logins import Keys, ends_of, granted, objects, refused, rows, say, session, table_id, told
from lake_clients import duck as duckdb_client
from rest import assert_error


def test_keys_read_the_tables_of_the_namespace_and_nothing_else(kept, bob):
    assert set(bob['s3']) == {'endpoint', 'region', 'path-style-access', 'access-key-id', 'secret-access-key', 'session-token', 'expiration'}
    assert bob['s3']['path-style-access'] is True and bob['s3']['access-key-id'] != kept.lake.s3_access_key
    keys = Keys(kept, bob['s3'])
    for table in ('sales.open_t', 'sales.open_p'):
        assert all(keys.gets(key) for key in objects(kept, table))
    assert not any(keys.gets(key) for key in objects(kept, 'hidden.hush_t'))
    own = objects(kept, 'sales.open_t')[0]
    folder = own.rsplit('/', 1)[0]
    for key in (own, f'{folder}/new.parquet', f'{folder}-beside/x.parquet'):
        assert not keys.puts(key)
    assert not keys.deletes(own) and keys.gets(own)
    kept.stack.store.client().put_object(kept.lake.s3_bucket, f'{folder}-beside/x.parquet', io.BytesIO(b'x'), 1)
    assert not keys.gets(f'{folder}-beside/x.parquet'), 'a folder whose name begins alike'
    assert keys.lists(f'{folder}/') and not keys.lists(f'{kept.lake.prefix}hidden/') and not keys.lists(kept.lake.prefix)


def test_keys_of_one_table_read_that_table(kept):
    keys = Keys(kept, kept.vend('bob', table='open_t')['s3'])
    assert all(keys.gets(key) for key in objects(kept, 'sales.open_t'))
    assert not any(keys.gets(key) for key in objects(kept, 'sales.open_p') + objects(kept, 'hidden.hush_t'))


def test_a_table_made_anew_in_a_dropped_ones_folder_gets_no_keys(kept):
    """The folder holds the files of the table before, which older snapshots show."""
    with duckdb_client.connect_lake(kept.lake) as duck:
        duck.execute('CREATE SCHEMA lake.again')
        duck.execute('CREATE TABLE lake.again.t AS SELECT * FROM range(100)')
        assert Keys(kept, kept.vend('wide', name_space='again', table='t')['s3']).gets(objects(kept, 'again.t')[0])
        duck.execute('CREATE OR REPLACE TABLE lake.again.t AS SELECT * FROM range(100)')
        duck.execute('CREATE TABLE lake.again.u AS SELECT * FROM range(100)')
    assert kept.vend('wide', name_space='again', table='t')['s3'] is None
    keys = Keys(kept, kept.vend('wide', name_space='again')['s3'])
    assert keys.gets(objects(kept, 'again.u')[0]) and not any(keys.gets(key) for key in objects(kept, 'again.t'))


def test_keys_follow_grants(kept):
    with granted(kept, 'table', table_id('open_t')):
        keys = Keys(kept, kept.vend('bob')['s3'])
        assert kept.vend('bob', table='open_p')['s3'] is None
        assert kept.vend('wide')['s3'] is None, 'nothing is read, so nothing is opened'
    assert all(keys.gets(key) for key in objects(kept, 'sales.open_t'))
    assert not any(keys.gets(key) for key in objects(kept, 'sales.open_p'))


def test_keys_to_many_tables_open_the_namespaces_folder_without_what_is_others(kept):
    with duckdb_client.connect_lake(kept.lake) as duck:
        duck.execute('CREATE SCHEMA lake.crowded')
        duck.execute('CREATE SCHEMA lake.crowded_too')
        for table in ('crowded_too.t', 'crowded.moved', *(f'crowded.t{n}' for n in range(40))):
            duck.execute(f'CREATE TABLE lake.{table} AS SELECT * FROM range(100)')
    # Its folder stays where it is, and is another namespace's now.
    renamed = requests.post(f'{kept.server.uri()}/v1/lake/tables/rename', headers=kept.token('admin'), timeout=60, json={
        'source': {'namespace': ['crowded'], 'name': 'moved'}, 'destination': {'namespace': ['hidden'], 'name': 'moved'}})
    assert renamed.status_code == 204, renamed.text
    answer = kept.vend('wide', name_space='crowded')
    keys = Keys(kept, answer['s3'])
    assert keys.gets(objects(kept, 'crowded.t0')[0]) and keys.gets(objects(kept, 'crowded.t39')[0])
    assert not keys.gets(objects(kept, 'crowded.moved')[0]) and not keys.gets(objects(kept, 'crowded_too.t')[0])
    with duckdb_client.connect_direct(answer) as duck:
        assert rows(duck, 'SELECT count(*) FROM lake.crowded.t7') == [(100,)]


def test_without_sts_there_are_no_keys_and_an_sts_that_is_away_is_503(kept):
    with Watched.beside(kept.stack, **{**kept.settings, 'LAKEPROXY_STS_ENDPOINT': 'none'}) as other:
        answer = kept.vend('bob', server=other)
        assert answer['s3'] is None and 3580 < ends_of(kept, answer) - time.time() <= 3600, 'the login has its own limit alone'
    with Watched.beside(kept.stack, **{**kept.settings, 'LAKEPROXY_STS_ENDPOINT': 'http://127.0.0.1:1'}) as other:
        assert_error(kept.get('bob', server=other), 503, 'ServiceUnavailableException')


@pytest.mark.parametrize('reader, sts, life', [('3600', '43200', 3600), ('3600', '900', 900), ('1000', '2000', 1000), ('40', '900', 40)])
def test_login_and_keys_of_one_answer_end_at_the_earlier_of_two_limits(kept, reader, sts, life):
    limits = {'LAKEPROXY_READER_TTL_SECONDS': reader, 'LAKEPROXY_STS_MAX_DURATION': sts}
    with Watched.beside(kept.stack, **kept.settings, **limits) as server:
        answer = kept.vend('bob', server=server)
        assert answer['s3']['expiration'] == answer['pg_valid_until']
        assert life - 20 < ends_of(kept, answer) - time.time() <= life
        assert Keys(kept, answer['s3']).gets(objects(kept, 'sales.open_t')[0])


def test_keys_end_at_the_moment_at_which_the_login_does(kept):
    key = objects(kept, 'sales.open_t')[0]
    with Watched.beside(kept.stack, **{**kept.settings, 'LAKEPROXY_READER_TTL_SECONDS': '8'}) as brief:
        answer, longer = kept.vend('bob', server=brief), kept.vend('bob')
        ends, keys, one = ends_of(kept, answer), Keys(kept, answer['s3']), session(answer)
        try:
            while time.time() < ends - 1:
                assert say(one, 'SELECT count(*) FROM ducklake_table') == '2' and keys.gets(key) and keys.lists(key.rsplit('/', 1)[0] + '/')
                time.sleep(0.2)
            time.sleep(max(0.0, ends + 0.5 - time.time()))
            assert not keys.gets(key) and not keys.lists(key.rsplit('/', 1)[0] + '/')
        finally:
            one.kill()
        refused(answer, 'SELECT 1', says='authentication failed')
        assert Keys(kept, longer['s3']).gets(key) and told(longer, 'SELECT count(*) FROM ducklake_table') == '2', 'of another answer'
