"""What is compared after a step: rows, schemas, lone aggregates and filtered reads, at the head and before."""
from oracle import conditions, offered, reading
from oracle.invariants import check_metadata
from oracle.manifests import check_snapshot
from oracle.reading import Truth, bag, compare, compare_names, compare_schema
from oracle.steps import Difference
from oracle.world import quoted


class Checker:
    def __init__(self, world, tally, thorough=False):
        self.world = world
        self.tally = tally
        self.thorough = thorough

    def check(self, table, random):
        loaded = self.load(table)
        if loaded is None:
            return
        check_metadata(loaded)
        # One transaction: DuckDB asks PostgreSQL for the lake's state once, not with every read.
        self.world.duck.execute('BEGIN')
        try:
            self.compare(table, loaded, random)
        finally:
            self.world.recover()

    def compare(self, table, loaded, random):
        truth = Truth(self.world, table)
        self.compare_with_expected(table, truth)
        compare_schema(truth, loaded.schema(), 'schema at the head')
        self.compare_rows(table, loaded, truth, None)
        self.aggregates(table, truth, random)
        for _ in range(6 if self.thorough else 2):
            self.filtered(table, loaded, truth, random)
        if self.thorough or random.random() < 0.1:
            self.compare_sample(table, truth)
        self.older(table, loaded, random)

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
        """Both doors could agree on what nobody asked for."""
        of, rows = self.world.expected or (None, None)
        if of is table:
            compare('effect of the operation', rows, truth.bag(self.world), 'the table', truth='what was asked for')
            self.world.expected = None

    def compare_rows(self, table, loaded, truth, snapshot):
        where = 'at the head' if snapshot is None else f'at snapshot {snapshot}'
        shown = reading.read_pyiceberg(loaded, snapshot)
        self.tally.reads += 2
        compare_names(f'columns {where}', truth.columns, shown, 'PyIceberg')
        compare(f'rows {where}', truth.bag(self.world), bag(self.world, shown, truth.columns), 'PyIceberg')
        if loaded.current_snapshot() is not None:
            check_snapshot(self.world, loaded, snapshot or loaded.metadata.current_snapshot_id)
        self.tally.compared += 1

    def compare_sample(self, table, truth):
        shown = reading.read_duck_iceberg(self.world, table)
        self.tally.reads += 1
        compare('rows at the head', truth.bag(self.world), bag(self.world, shown, truth.columns), "DuckDB's iceberg extension")

    def aggregates(self, table, truth, random):
        """Asked alone they are answered from the lake's statistics, which other clients' commits write too."""
        usable = [name for name, kind in truth.columns if kind in conditions.COMPARED]
        asked = [f'{function}({quoted(name)})' for name in usable for function in ('min', 'max', 'count')]
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
        direct = self.world.duck.execute(f'FROM {self.world.full_name(table)} WHERE {chosen.sql}').to_arrow_table()
        self.tally.reads += 2
        self.tally.filters += 1
        compare(f'filtered rows: {chosen}', expected, bag(self.world, direct, truth.columns), 'DuckDB with the filter')
        try:
            shown = reading.read_pyiceberg(loaded, expression=chosen.expression)
        except TypeError:
            self.tally.reasons['PyIceberg cannot compare a partition value that is null'] += 1
            return
        compare(f'filtered rows: {chosen}', expected, bag(self.world, shown, truth.columns), 'PyIceberg with the filter')

    def older(self, table, loaded, random):
        """Snapshots that both doors still have; those before a maintenance as well as those after it."""
        shown = [snapshot for snapshot in loaded.metadata.snapshots if snapshot.snapshot_id >= table.born]
        chosen = shown if self.thorough else random.sample(shown, min(2, len(shown)))
        for snapshot in chosen:
            truth = Truth(self.world, table, snapshot.snapshot_id)
            schema = loaded.metadata.schema_by_id(snapshot.schema_id)
            compare_schema(truth, schema, f'schema at snapshot {snapshot.snapshot_id}')
            self.compare_rows(table, loaded, truth, snapshot.snapshot_id)
