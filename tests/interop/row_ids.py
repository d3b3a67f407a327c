"""Tables of format version 3, and whether the ids of their rows are the lake's to every client."""
from rest import table_body

FIELDS = [{'id': 1, 'name': 'a', 'type': 'long', 'required': False},
          {'id': 2, 'name': 's', 'type': 'string', 'required': False}]


def make_table(rest, schema, name, version='3', fields=FIELDS, **properties):
    properties['format-version'] = version
    body = table_body(name, schema={'type': 'struct', 'fields': fields}, properties=properties)
    answer = rest.post(f'namespaces/{schema}/tables', body)
    assert answer.status_code == 200, answer.text
    return f'{schema}.{name}'


def lake_lineage(duck, table, at=''):
    return sorted(duck.execute(f'SELECT rowid, snapshot_id, a FROM lake.{table}{at}').fetchall())


def spark_lineage(spark, table, at=''):
    rows = spark.sql(f'SELECT _row_id, _last_updated_sequence_number, a FROM lake.{table}{at}').collect()
    return sorted((row[0], row[1], row[2]) for row in rows)


def assert_same_lineage(duck, spark, table):
    wanted = lake_lineage(duck, table)
    assert spark_lineage(spark, table) == wanted
    assert len({row[0] for row in wanted}) == len(wanted), 'an id names two rows'
