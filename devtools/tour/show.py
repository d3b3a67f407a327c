"""Prints the tour's steps, statements and rows."""


def say(text):
    print(f'\n-- {text}', flush=True)


def show_statement(client, statement):
    print(f'   {client}> {statement}', flush=True)


def show_table(table, limit=20):
    rows = [[text(row[name]) for name in table.column_names] for row in table.slice(0, limit).to_pylist()]
    widths = [max(len(cell) for cell in column) for column in zip(table.column_names, *rows)]
    for line in [table.column_names, ['-' * width for width in widths], *rows]:
        print('      ' + '  '.join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())
    if table.num_rows > limit:
        print(f'      ... {table.num_rows} rows')


def text(value):
    return 'NULL' if value is None else str(value)
