"""Each client as a reader of whole tables, now or at a snapshot. Rows come as Arrow."""
import pyarrow.ipc


class Direct:
    """DuckDB on the lake's own tables, past our catalog."""

    name = 'DuckDB directly'

    def __init__(self, connection):
        self.connection = connection

    def read(self, table, snapshot=None):
        return self.connection.execute(f'FROM lake.{table}{version(snapshot)}').to_arrow_table()

    def columns(self, table, snapshot=None):
        rows = self.connection.execute(f'DESCRIBE FROM lake.{table}{version(snapshot)}').fetchall()
        return [(row[0], row[1]) for row in rows]

    def comments(self, table):
        """By column, of those that have one; the table's own under None."""
        schema, name = table.split('.')
        asked = [schema, name.strip('"')]
        of_table = "database_name = 'lake' AND schema_name = ? AND table_name = ? AND comment IS NOT NULL"
        return dict(self.connection.execute(f"""SELECT NULL, comment FROM duckdb_tables() WHERE {of_table} UNION ALL
            SELECT column_name, comment FROM duckdb_columns() WHERE {of_table}""", 2 * asked).fetchall())


class DuckIceberg:
    """DuckDB's Iceberg extension."""

    name = 'DuckDB iceberg'

    def __init__(self, connection):
        self.connection = connection

    def read(self, table, snapshot=None):
        return self.connection.execute(f'FROM ice.{table}{version(snapshot)}').to_arrow_table()


class PyIceberg:
    name = 'PyIceberg'

    def __init__(self, catalog):
        self.catalog = catalog

    def read(self, table, snapshot=None):
        return self.catalog.load_table(table).scan(snapshot_id=snapshot).to_arrow()


class ClickHouse:
    """chdb."""

    name = 'chdb'

    def __init__(self, session):
        self.session = session

    def read(self, table, snapshot=None):
        at = '' if snapshot is None else f' SETTINGS iceberg_snapshot_id = {snapshot}'
        return self.ask(f'SELECT * FROM ice.`{table}`{at}')

    def ask(self, statement):
        answer = self.session.query(statement, 'Arrow').bytes()
        rows = pyarrow.ipc.open_file(answer).read_all()
        return rows.cast(pyarrow.schema([without_zone(field) for field in rows.schema]))


def without_zone(field):
    """ClickHouse has no other timestamps than those with a zone, and DuckDB none of nanoseconds that has one."""
    return field.with_type(pyarrow.timestamp('ns')) if field.type == pyarrow.timestamp('ns', 'UTC') else field


class Spark:
    name = 'Spark'

    def __init__(self, session):
        self.session = session

    def read(self, table, snapshot=None):
        at = '' if snapshot is None else f' VERSION AS OF {snapshot}'
        return self.session.sql(f'SELECT * FROM lake.{table}{at}').toArrow()


def version(snapshot):
    return '' if snapshot is None else f' AT (VERSION => {snapshot})'
