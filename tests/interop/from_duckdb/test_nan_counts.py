"""NaN counts of files that DuckDB wrote: exact or absent, never a guess, whatever its statistics say, and at a bounded price."""
import dataclasses
import re
import threading

import pytest
import requests
from pyiceberg.expressions import IsNaN, NotNaN

import own_lake
from by_hand import Listening, Watched
from lake_clients import iceberg as iceberg_client
from rest import Rest

ROWS = 20_000
GROUP = 2048
# The NaN is in a row group before the last: DuckDB 1.5.5 says contains_nan = false of such a file.
EARLY = "SELECT i, CASE WHEN i = 17 THEN 'nan' ELSE i / 7 END::DOUBLE AS v, {{'f': CASE WHEN i = 5000 THEN 'nan'::FLOAT ELSE 1.5 + i % 3 END::FLOAT}} AS s " \
        'FROM range({first}, {last}) r(i)'
COLUMNS = 'i BIGINT, v DOUBLE, s STRUCT(f FLOAT)'


def make(duck, schema, rows=ROWS, first=0, name='t'):
    duck.execute(f'CREATE TABLE IF NOT EXISTS lake.{schema}.{name} ({COLUMNS})')
    duck.execute(f"CALL lake.set_option('parquet_row_group_size', {GROUP}, schema => '{schema}', table_name => '{name}')")
    duck.execute(f'INSERT INTO lake.{schema}.{name} {EARLY.format(first=first, last=first + rows)}')


def ask(duck, sql):
    return duck.execute("FROM postgres_query('__ducklake_metadata_lake', $ask$" + sql + '$ask$)').fetchall()


def counts(loaded):
    """(NaNs of v, NaNs of s.f) of each data file, in the order of the files' rows."""
    files = sorted(loaded.inspect.data_files().to_pylist(), key=lambda file: file['readable_metrics']['i']['lower_bound'])
    fields = [loaded.schema().find_field(name).field_id for name in ('v', 's.f')]
    return [tuple(dict(file['nan_value_counts'] or []).get(field) for field in fields) for file in files]


def assert_nans_agree(duck, loaded, table):
    for name in ('v', 's.f'):
        nan, other = duck.execute(f'SELECT count(*) FILTER (isnan({name})), count(*) FILTER (NOT isnan({name})) FROM lake.{table}').fetchone()
        assert loaded.scan(row_filter=IsNaN(name)).to_arrow().num_rows == nan
        assert loaded.scan(row_filter=NotNaN(name)).to_arrow().num_rows == other


def test_a_nan_before_the_last_row_group_is_found(duck, catalog, schema):
    make(duck, schema)
    believed = ask(duck, f"""SELECT DISTINCT s.contains_nan FROM ducklake_file_column_stats s JOIN ducklake_table t USING (table_id)
        JOIN ducklake_schema n USING (schema_id) WHERE n.schema_name = '{schema}' AND s.contains_nan IS NOT NULL""")
    assert believed == [(False,)]  # else the file does not show what this is about
    loaded = catalog.load_table(f'{schema}.t')
    assert_nans_agree(duck, loaded, f'{schema}.t')
    assert counts(loaded) == [(1, 1)]


def test_files_that_duckdb_merges_and_flushes_are_counted_anew(duck, catalog, schema):
    table = f'{schema}.t'
    make(duck, schema)
    make(duck, schema, rows=3000, first=ROWS)
    duck.execute(f"INSERT INTO lake.{table} VALUES (100000, 'nan', {{'f': 1.5}})")
    duck.execute(f"CALL ducklake_flush_inlined_data('lake', schema_name => '{schema}', table_name => 't')")
    loaded = catalog.load_table(table)
    assert counts(loaded) == [(1, 1), (0, 0), (1, 0)]
    duck.execute(f"CALL ducklake_merge_adjacent_files('lake', 't', schema => '{schema}')")
    loaded = catalog.load_table(table)
    assert_nans_agree(duck, loaded, table)
    assert counts(loaded) == [(2, 1)]


@pytest.mark.parametrize('options', ('', ', FIELD_IDS {i: 1, v: 2, s: {__duckdb_field_id: 3, f: 4}}'))
def test_added_files_are_counted(duck, lake, catalog, schema, options):
    """DuckDB says nothing of their NaNs. A count of 0 is remembered as any other."""
    table, place = f'{schema}.t', f's3://{lake.s3_bucket}/beside/{schema}'
    duck.execute(f'CREATE TABLE lake.{table} ({COLUMNS})')
    for number, first in enumerate((0, ROWS)):
        duck.execute(f"COPY ({EARLY.format(first=first, last=first + ROWS)}) TO '{place}/{number}.parquet' "
                     f'(FORMAT parquet, ROW_GROUP_SIZE {GROUP}{options})')
        duck.execute(f"CALL ducklake_add_data_files('lake', 't', '{place}/{number}.parquet', schema => '{schema}')")
    loaded = catalog.load_table(table)
    assert_nans_agree(duck, loaded, table)
    assert counts(loaded) == [(1, 1), (0, 0)]
    kept = ask(duck, f"""SELECT n.data_file_id, n.nan_count FROM lakeproxy_nan_count n JOIN ducklake_data_file f USING (data_file_id)
        JOIN ducklake_table t USING (table_id) JOIN ducklake_schema s USING (schema_id) WHERE s.schema_name = '{schema}' ORDER BY 1, 2""")
    assert [count for _, count in kept] == [1, 1, 0, 0]


class Spoiled(Listening):
    """A wire on which data files can be held back, and PUTs refused."""

    def __init__(self, port):
        self.may_read = threading.Event()
        self.may_read.set()
        self.refuses_puts = False
        super().__init__(port)

    def note(self, words):
        super().note(words)
        if re.match(rb'GET \S+\.parquet HTTP', words):
            self.may_read.wait()
        if self.refuses_puts and words.startswith(b'PUT '):
            self.set('refuse')

    def __exit__(self, *of):
        self.may_read.set()
        super().__exit__(*of)


class Spoilable(Watched):
    wire_class = Spoiled


@pytest.fixture(scope='module')
def own():
    """Nobody publishes before the servers of these tests do."""
    with own_lake.own_stack('nans', LAKEPROXY_DISABLE_NOTIFY='1') as made:
        yield made


@pytest.fixture
def table(own, request):
    name = re.sub(r'\W+', '_', request.node.name)
    own.duck.execute(f'CREATE SCHEMA lake.{name}')
    make(own.duck, name)
    return f'{name}.t'


def beside(own, **settings):
    return Spoilable.beside(own.stack, LAKEPROXY_DISABLE_NOTIFY='1', **settings)


def loaded_from(own, server, table):
    lake = dataclasses.replace(own.lake, uri=server.uri())
    return iceberg_client.connect(lake).load_table(table)


def status(own, server, table):
    return Rest(server.uri(), own.lake.warehouse).get('namespaces/{}/tables/{}'.format(*table.split('.'))).status_code


def remembered(own, table):
    """(of v, of s.f) of each file, None where it is to stay unknown."""
    rows = ask(own.duck, f"""SELECT array_agg(n.nan_count ORDER BY n.column_id) FROM lakeproxy_nan_count n
        JOIN ducklake_data_file f USING (data_file_id) JOIN ducklake_table t USING (table_id) JOIN ducklake_schema s USING (schema_id)
        WHERE s.schema_name = '{table.split('.')[0]}' GROUP BY n.data_file_id ORDER BY n.data_file_id""")
    return [tuple(counts) for counts, in rows]


DATA = '.parquet'


def test_what_is_beyond_the_bound_has_no_count_and_is_not_read(own, table):
    """Not even its footer: the lake says how large the columns are."""
    with beside(own, LAKEPROXY_NAN_COUNT_MAX_BYTES='16KiB') as server:
        loaded = loaded_from(own, server, table)
        assert server.wire.read_of(DATA) == 0
        assert counts(loaded) == [(None, None)] and remembered(own, table) == [(None, None)]
        assert_nans_agree(own.duck, loaded, table)
    # What was shown stays so, also for a server that may read more.
    with beside(own) as server:
        own.duck.execute(f'DELETE FROM lake.{table} WHERE i = 3')
        assert counts(loaded_from(own, server, table)) == [(None, None)]
        assert server.wire.read_of(DATA) == 0


def test_a_load_reads_no_more_than_the_bound(own, table):
    """The newest file first; what is left is not enough for the others."""
    name_space = table.split('.')[0]
    make(own.duck, name_space, first=ROWS)
    make(own.duck, name_space, first=2 * ROWS)
    with beside(own) as server:
        make(own.duck, name_space, name='measure')
        loaded_from(own, server, f'{name_space}.measure')
        one_file = server.wire.read_of(DATA)
    bound = one_file * 3 // 2
    with beside(own, LAKEPROXY_NAN_COUNT_MAX_BYTES=str(bound)) as server:
        loaded = loaded_from(own, server, table)
        assert 0 < server.wire.read_of(DATA) <= bound
        assert counts(loaded) == [(None, None), (None, None), (0, 0)]
        assert_nans_agree(own.duck, loaded, table)


def test_with_a_bound_of_zero_nothing_is_read(own, table):
    with beside(own, LAKEPROXY_NAN_COUNT_MAX_BYTES='0') as server:
        assert counts(loaded_from(own, server, table)) == [(None, None)]
        assert server.wire.read_of(DATA) == 0


def test_what_a_load_that_failed_has_counted_is_not_counted_again(own, table):
    with beside(own) as server:
        server.wire.refuses_puts = True
        assert status(own, server, table) == 503
        read = server.wire.read_of(DATA)
        assert read > 0 and remembered(own, table) == [(1, 1)]
        server.wire.refuses_puts = False
        server.wire.set('pass')
        assert counts(loaded_from(own, server, table)) == [(1, 1)]
        assert server.wire.read_of(DATA) == read


def test_data_files_that_cannot_be_read_in_time_do_not_hold_up_a_load(own, table):
    with beside(own, LAKEPROXY_REQUEST_TIMEOUT='4') as server:
        server.wire.may_read.clear()
        loaded = loaded_from(own, server, table)
        assert len(server.wire.ranges) == 1
        server.wire.may_read.set()
        assert counts(loaded) == [(None, None)]
        assert_nans_agree(own.duck, loaded, table)
        text = requests.get(f'{server.uri()}/metrics', timeout=30).text
        assert 'lakeproxy_nan_count_files_total{outcome="out_of_time"} 1' in text


def test_a_data_file_that_is_gone_does_not_hold_up_a_load(own, table):
    """Readers will find that it is gone; the table can be mended only if it loads."""
    place, = own.duck.execute(f"SELECT data_file FROM ducklake_list_files('lake', 't', schema => '{table.split('.')[0]}')").fetchone()
    own.objects.client.remove_object(own.objects.bucket, place.removeprefix(f's3://{own.objects.bucket}/'))
    with beside(own) as server:
        assert counts(loaded_from(own, server, table)) == [(None, None)]
