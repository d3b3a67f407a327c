"""A SQL prompt: the lake as `lake`, and through the Iceberg catalog as `ice`."""
import readline  # noqa: F401  gives input() a history

import duckdb

from lake_clients import duck
from lake_clients.lake import Lake


def connect():
    lake = Lake.from_environment()
    connection = duck.connect_lake(lake)
    for extension in duck.ICEBERG_EXTENSIONS:
        connection.execute(duck.load(extension))
    for statement in (*duck.catalog_secrets(lake), duck.attach_catalog(lake)):
        connection.execute(statement)
    return connection


def read_statement():
    lines = [input('D> ')]
    while lines[-1].strip() and not lines[-1].rstrip().endswith(';'):
        lines.append(input(' > '))
    return '\n'.join(lines)


def main():
    connection = connect()
    print('The lake is `lake`, the same through the Iceberg catalog is `ice`. Ctrl-D leaves.')
    while True:
        try:
            result = connection.sql(read_statement())
            if result is not None:
                result.show()
        except EOFError:
            return
        except duckdb.Error as fault:
            print(fault)


if __name__ == '__main__':
    main()
