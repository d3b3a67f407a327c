"""Trino as a reader of whole tables. Its client gives Python values; here they become Arrow again."""
import pyarrow as pa

SCALARS = {'boolean': pa.bool_(), 'integer': pa.int32(), 'bigint': pa.int64(), 'real': pa.float32(),
           'double': pa.float64(), 'varchar': pa.string(), 'varbinary': pa.binary(), 'date': pa.date32(),
           'uuid': pa.string(), 'time(6)': pa.time64('us'), 'timestamp(6)': pa.timestamp('us'),
           'timestamp(6) with time zone': pa.timestamp('us', 'UTC')}


class TrinoReader:
    name = 'Trino'

    def __init__(self, cursor):
        self.cursor = cursor

    def read(self, table, snapshot=None):
        at = '' if snapshot is None else f" FOR VERSION AS OF BIGINT '{snapshot}'"
        rows = self.cursor.execute(f'SELECT * FROM lake.{table}{at}').fetchall()
        fields = [(column.name, arrow_type(column.type_code)) for column in self.cursor.description]
        return pa.table([pa.array([plain(row[i]) for row in rows], kind) for i, (_, kind) in enumerate(fields)],
                        schema=pa.schema(fields))


def plain(value):
    """Named tuples are dicts to Arrow, and UUIDs text."""
    if isinstance(value, tuple):
        return {name: plain(part) for name, part in zip(value.__annotations__['names'], value)}
    if isinstance(value, list):
        return [plain(part) for part in value]
    if isinstance(value, dict):
        return [(plain(key), plain(part)) for key, part in value.items()]
    return str(value) if type(value).__name__ == 'UUID' else value


def arrow_type(text):
    """The type that Trino writes as `text`."""
    if text in SCALARS:
        return SCALARS[text]
    kind, _, inner = text.removesuffix(')').partition('(')
    parts = split(inner)
    if kind == 'decimal':
        return pa.decimal128(int(parts[0]), int(parts[1]))
    if kind == 'array':
        return pa.list_(arrow_type(parts[0]))
    if kind == 'map':
        return pa.map_(arrow_type(parts[0]), arrow_type(parts[1]))
    assert kind == 'row', f'a type that no test uses: {text}'
    named = [part.split(' ', 1) for part in parts]
    return pa.struct([(name.strip('"'), arrow_type(of)) for name, of in named])


def split(text):
    """At the commas that stand in no parentheses."""
    parts, depth = [''], 0
    for char in text:
        depth += (char == '(') - (char == ')')
        if char == ',' and depth == 0:
            parts.append('')
        else:
            parts[-1] += char
    return [part.strip() for part in parts]
