"""What is compared after a step: rows, schemas, lone aggregates and filtered reads, at the head and before."""
import pyarrow.compute as pc
from pyiceberg.expressions.visitors import bind, extract_field_ids
from pyiceberg.transforms import TruncateTransform

from oracle import conditions, lake_faults, lineage, offered, reading
from oracle.by_specification import has_stale_vectors, lacks
from oracle.commits import live
from oracle.data_files import columns_by_id, row_groups
from oracle.invariants import Told, check_metadata, with_left_partitions
from oracle.manifests import check_snapshot
from oracle.reading import Truth, bag, compare, compare_names, compare_schema
from oracle.steps import Difference
from oracle.world import quoted


class Checker:
    def __init__(self, world, tally, thorough=False):
        self.world = world
        self.tally = tally
        self.thorough = thorough
        self.told = Told()

    def check(self, table, random):
        loaded = self.load(table)
        if loaded is None:
            return
        check_metadata(loaded)
        self.check_shown(table, loaded.metadata)
        self.told.check(loaded.metadata)
        # One transaction: DuckDB asks PostgreSQL for the lake's state once, not with every read.
        self.world.duck.execute('BEGIN')
        try:
            self.compare(table, loaded, random)
        finally:
            self.world.recover()

    def check_shown(self, table, metadata):
        """A snapshot that was shown keeps its manifest list, and goes only with the lake's or by a client's wish, or with a
        partition whose column is of another type now."""
        lists = {snapshot.snapshot_id: snapshot.manifest_list for snapshot in metadata.snapshots}
        held = table.seen if table.seen_version == metadata.format_version else {}
        changed = sorted(each for each in held.keys() & lists.keys() if held[each] != lists[each])
        if changed:
            raise Difference('published snapshots', f'{table.name} shows {changed} with other manifest lists than before')
        missing = held.keys() - lists.keys()
        if missing:
            there = {row[0] for row in self.world.duck.execute("SELECT snapshot_id FROM ducklake_snapshots('lake')").fetchall()}
            hidden = missing & there - with_left_partitions(table.seen_metadata, metadata)
            if hidden:
                raise Difference('published snapshots', f'{table.name} hides {sorted(hidden)}, which it had shown')
        table.seen, table.seen_version, table.seen_metadata = lists, metadata.format_version, metadata

    def compare(self, table, loaded, random):
        truth = Truth(self.world, table)
        self.compare_with_expected(table, truth)
        compare_schema(truth, loaded.schema(), 'schema at the head')
        self.compare_comments(table, loaded)
        numbers = self.compare_rows(table, loaded, truth, None, random)
        self.aggregates(table, truth, random)
        for _ in range(6 if self.thorough else 2):
            self.filtered(table, loaded, truth, random)
        if (self.thorough or random.random() < 0.1) and not names_dropped_column(loaded.metadata):
            self.compare_sample(table, truth)
        self.older(table, loaded, random, numbers)

    def compare_comments(self, table, loaded):
        of_table = "database_name = 'lake' AND schema_name = ? AND table_name = ?"
        ask = self.world.duck.execute
        names = [table.schema, table.name]
        wanted = {None: ask(f'SELECT comment FROM duckdb_tables() WHERE {of_table}', names).fetchone()[0],
                  **dict(ask(f'SELECT column_name, comment FROM duckdb_columns() WHERE {of_table}', names).fetchall())}
        found = {None: loaded.properties.get('comment'), **{field.name: field.doc for field in loaded.schema().fields}}
        differ = {name: (wanted[name], text) for name, text in found.items() if name in wanted and wanted[name] != text}
        if differ:
            raise Difference('comments', f'{table.name}: DuckDB and PyIceberg have, by column: {differ}')

    def check_names(self):
        """The catalog lists the tables and the views that there are, and neither for the other."""
        for schema in self.world.schemas():
            tables = sorted(table.name for table in self.world.tables if table.schema == schema)
            self.compare_names('tables', schema, tables)
            self.compare_names('views', schema, self.world.views(schema))

    def compare_names(self, kind, schema, wanted):
        listed = self.world.rest.get(f'namespaces/{schema}/{kind}')['identifiers']
        found = sorted(entry['name'] for entry in listed)
        if found != wanted:
            raise Difference(f'list of {kind}', f'{schema} has the {kind} {wanted}, and the catalog lists {found}')

    def load(self, table):
        """None where the catalog refuses the table for a reason that it may refuse it for."""
        try:
            loaded = self.world.load(table)
        except NotImplementedError as refusal:
            self.tally.refused_load(offered.reason_of_load(str(refusal)))
            return None
        self.tally.reads += 1
        return loaded

    def compare_with_expected(self, table, truth):
        """Both access paths could agree on what nobody asked for."""
        for of, rows in self.world.expected:
            if of is table:
                compare('effect of the operation', rows, truth.bag(self.world), 'the table', truth='what was asked for')
        self.world.expected = [(of, rows) for of, rows in self.world.expected if of is not table]

    def compare_rows(self, table, loaded, truth, snapshot, random):
        """{row id: number} of the rows, in format version 3."""
        where = 'at the head' if snapshot is None else f'at snapshot {snapshot}'
        columns = self.pyiceberg_columns(loaded, truth, snapshot)
        if columns:
            shown = reading.read_pyiceberg(loaded, truth.columns, snapshot)
            compare_names(f'columns {where}', columns, shown, 'PyIceberg')
            compare(f'rows {where}', bag(self.world, truth.rows, columns), bag(self.world, shown, columns), 'PyIceberg')
        self.tally.reads += 2
        if loaded.current_snapshot() is not None:
            check_snapshot(self.world, loaded, snapshot or loaded.metadata.current_snapshot_id)
        self.tally.compared += 1
        if loaded.metadata.format_version < 3 and not self.thorough and random.random() < 0.7:
            return {}
        schema = schema_at(loaded, snapshot)
        return lineage.check(self.world, self.tally, table, loaded, snapshot, truth, schema)

    def pyiceberg_columns(self, loaded, truth, snapshot):
        """Those that PyIceberg can be asked for."""
        shown = loaded.current_snapshot() if snapshot is None else loaded.snapshot_by_id(snapshot)
        if loaded.metadata.format_version >= 3 and shown is not None:
            self.world.demand(not has_stale_vectors(loaded, shown),
                              'a Puffin file holds a vector that no entry names, with rows that are there again')
        return reading.readable(truth.columns)

    def compare_sample(self, table, truth):
        shown = reading.read_duck_iceberg(self.world, table)
        self.tally.reads += 1
        compare('rows at the head', truth.bag(self.world), bag(self.world, shown, truth.columns), "DuckDB's iceberg extension")

    def aggregates(self, table, truth, random):
        """Asked alone they are answered from the lake's statistics, which other clients' commits write too."""
        usable = [name for name, kind in truth.columns if kind in conditions.AGGREGATED]
        unsure = lake_faults.forgets_bounds(self.world, table) or table.undone
        functions = ('count',) if unsure else ('min', 'max', 'count')
        without_nan = ('FLOAT', 'DOUBLE') if lake_faults.loses_nans(self.world, table) else ()
        kinds = dict(truth.columns)
        asked = [f'{function}({quoted(name)})' for name in usable for function in functions
                 if function == 'count' or kinds[name] not in without_nan]
        asked = ['count(*)', *(asked if self.thorough else random.sample(asked, min(4, len(asked))))]
        self.world.engine.register('shown', truth.rows)
        for aggregate in asked:
            alone = self.world.duck.execute(f'SELECT {aggregate} FROM {self.world.full_name(table)}').fetchone()
            true = self.world.engine.execute(f'SELECT {aggregate} FROM shown').fetchone()
            self.tally.reads += 1
            if repr(alone) != repr(true):
                raise Difference('lone aggregate', f'{aggregate} of {table.name} is {true[0]!r}, '
                                                   f'and DuckDB asked for it alone says {alone[0]!r}')

    def filtered(self, table, loaded, truth, random):
        chosen = conditions.random_filter(random, table, truth.rows, truth.columns)
        if chosen is None:
            return
        expected = bag(self.world, truth.rows, truth.columns, where=chosen.sql)
        direct = self.world.duck.execute(f'SELECT {reading.as_shown(truth.columns)} FROM {self.world.full_name(table)} '
                                         f'WHERE {chosen.sql}').to_arrow_table()
        self.tally.reads += 2
        self.tally.filters += 1
        if lake_faults.lost_by_buckets(self.world, table, chosen.equal):
            self.tally.reasons['DuckDB loses rows of files outside the present buckets when a filter asks for one value'] += 1
        elif truth.has_nan(chosen.unequal):
            # Also in a file that DuckDB wrote: its bounds, which leave NaN out, are the one value.
            self.tally.reasons['DuckDB loses NaN by <> where the other values of the file are all the one it asks for'] += 1
        elif table.unbounded:
            self.tally.reasons['DuckDB took the bounds of later rows for those of the whole table'] += 1
        else:
            compare(f'filtered rows: {chosen}', expected, bag(self.world, direct, truth.columns), 'DuckDB with the filter')
        try:
            shown = reading.read_pyiceberg(loaded, truth.columns, expression=chosen.expression)
        except TypeError:
            self.tally.reasons['PyIceberg cannot compare a partition value that is null'] += 1
            return
        except OverflowError:
            self.tally.reasons['PyIceberg cannot turn a filter by the first or last day into one of years or months'] += 1
            return
        if lost_by_wrapping(loaded, truth.rows, chosen.sql):
            self.tally.reasons['PyIceberg passes over files whose truncated value wrapped around when it was written'] += 1
            return
        if has_nan_beside_one(loaded, chosen.sql):
            self.tally.reasons['PyArrow takes NaN for the value beside it where a row group has one value alone'] += 1
            return
        defaults = defaults_asked_for(loaded, chosen.expression)
        if defaults and lacks(loaded, defaults):
            self.tally.reasons['PyIceberg compares the default of a column that a file lacks as the text that it is in JSON'] += 1
            return
        columns = self.pyiceberg_columns(loaded, truth, None)
        if columns and chosen.unequal and lacks(loaded, chosen.unequal):
            self.tally.reasons['PyIceberg finds NULL unequal to a value where the file lacks the column'] += 1
            return
        if not columns:
            return
        expected = bag(self.world, truth.rows, columns, where=chosen.sql) if columns != truth.columns else expected
        compare(f'filtered rows: {chosen}', expected, bag(self.world, shown, columns), 'PyIceberg with the filter')

    def older(self, table, loaded, random, newest):
        """Snapshots that both access paths still have; those before a maintenance as well as those after it."""
        shown = [snapshot for snapshot in loaded.metadata.snapshots if snapshot.snapshot_id >= table.born]
        chosen = shown if self.thorough else random.sample(shown, min(2, len(shown)))
        for snapshot in chosen:
            if lake_faults.deleted_twice(self.world, table, snapshot.snapshot_id):
                self.tally.reasons["DuckDB shows deleted rows again at an older snapshot, after a flush of deletes of a file that is gone"] += 1
                continue
            truth = Truth(self.world, table, snapshot.snapshot_id)
            compare_schema(truth, schema_at(loaded, snapshot.snapshot_id), f'schema at snapshot {snapshot.snapshot_id}')
            numbers = self.compare_rows(table, loaded, truth, snapshot.snapshot_id, random)
            if not went_back_since(loaded, snapshot.snapshot_id):
                lineage.check_since(numbers, newest)


def went_back_since(loaded, snapshot):
    """Rows that come back in a file that says when they were written have the number that they had then."""
    return any(later.snapshot_id > snapshot and later.summary['lakeproxy-restored-snapshot-id']
               for later in loaded.metadata.snapshots)


def defaults_asked_for(loaded, expression):
    """Columns of the filter that have another value than NULL where a file lacks them."""
    asked = extract_field_ids(bind(loaded.schema(), expression, case_sensitive=True))
    return [field.name for field in loaded.schema().fields if field.field_id in asked and field.initial_default is not None]


def lost_by_wrapping(loaded, rows, sql):
    """Whether the filter asks for a column with a value that is too low for its truncation: clients write the truncated
    value wrapped around, as a great one, and then pass over the file when they look for low ones."""
    for field in (field for spec in loaded.metadata.partition_specs for field in spec.fields):
        source = next((column for column in loaded.schema().fields if column.field_id == field.source_id), None)
        bits = {'int': 32, 'long': 64}.get(str(source and source.field_type))
        if not isinstance(field.transform, TruncateTransform) or bits is None or quoted(source.name) not in sql:
            continue
        least = pc.min(rows.column(source.name)).as_py()
        if least is not None and least - least % field.transform.width < -2**(bits - 1):
            return True
    return False


def has_nan_beside_one(loaded, sql):
    """Whether a column of the filter holds NaN and one other value alone in some row group. PyArrow, which filters for PyIceberg,
    takes every row of such a row group for that value, by its least and greatest one."""
    asked = [field.field_id for field in loaded.schema().fields
             if str(field.field_type) in ('float', 'double') and quoted(field.name) in sql]
    if not asked:
        return False
    groups = [columns_by_id(group) for file in live(loaded)[0] for group in row_groups(loaded, file.path)]
    return any(is_nan_beside_one(group[field]) for group in groups for field in asked if field in group)


def is_nan_beside_one(column):
    values = {value for value in column.to_pylist() if value is not None}
    numbers = {value for value in values if value == value}
    return len(numbers) == 1 and len(values) > 1


def schema_at(loaded, snapshot):
    if snapshot is None:
        return loaded.schema()
    return loaded.metadata.schema_by_id(loaded.snapshot_by_id(snapshot).schema_id)


def names_dropped_column(metadata):
    """Whether a partition spec is made of a column that is gone: DuckDB's iceberg extension (1.5.5) ends the process then."""
    there = {number for schema in metadata.schemas if schema.schema_id == metadata.current_schema_id
             for number in schema.field_ids}
    return any(field.source_id not in there for spec in metadata.partition_specs for field in spec.fields)
