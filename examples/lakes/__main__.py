"""python -m lakes NAME [--schema S] [--scale N]: makes one of the lakes in the lake that the environment names."""
import argparse

import duckdb

from lake_clients import duck as duckdb_client
from lake_clients.lake import Lake

from lakes import events, every_type, tpch

LAKES = {'tpch': tpch, 'events': events, 'every_type': every_type}


def main():
    parser = argparse.ArgumentParser(prog='./dev example', description='Makes a lake to try lakeproxy with.')
    parser.add_argument('lake', choices=LAKES, help='; '.join(f'{name}: {one.__doc__.splitlines()[0]}' for name, one in LAKES.items()))
    parser.add_argument('--schema', help="where its tables stand (its name, or 'shop' for events)")
    parser.add_argument('--scale', type=float, help="how much: TPC-H's factor, days of events, thousands of rows")
    given = parser.parse_args()
    options = {name: value for name, value in (('schema', given.schema), ('scale', given.scale)) if value is not None}
    duck = duckdb_client.connect_lake(Lake.from_environment())
    try:
        make(duck, LAKES[given.lake], options)
    except duckdb.CatalogException as problem:
        parser.exit(1, f'{problem}\nThe lake has such a table already: take another --schema.\n')


def make(duck, lake, options):
    for extension in lake.EXTENSIONS:
        duck.execute(duckdb_client.load(extension))
    schema = options.get('schema') or lake.make.__defaults__[0]
    duck.execute(f'CREATE SCHEMA IF NOT EXISTS lake.{schema}')
    for table in lake.make(duck, **options):
        rows, = duck.execute(f'SELECT count(*) FROM lake.{table}').fetchone()
        print(f'{table}: {rows} rows', flush=True)


if __name__ == '__main__':
    main()
