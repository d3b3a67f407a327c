"""Views made and changed through the catalog, as DuckDB sees them; those of DuckDB are duck_shape.view."""
from oracle.reading import Truth, bag, compare
from oracle.rest import quote
from oracle.steps import operation
from oracle.world import quoted

SHOWN = 'n'  # the one column of these views, whatever its name in the query


@operation('rest.view', 1)
def view(world, random):
    """Made, changed, renamed or dropped; DuckDB counts the table's rows by it."""
    table = world.pick(random)
    name = f'w{random.randint(0, 1)}'
    path = f'namespaces/{table.schema}/views'
    sql = f'SELECT count(*) + {random.randint(0, 9)} FROM {table.schema}.{quoted(table.name)}'
    there = name in names(world, table.schema)
    what = random.choice(('replace', 'rename', 'drop')) if there else 'create'
    world.note(f'-- {what} the view {name}: {sql}')
    if what == 'create':
        world.rest.post(path, {'name': name, **definition(sql)})
    elif what == 'drop':
        world.rest.delete(f'{path}/{quote(name)}')
    elif what == 'rename':
        to = f'w{random.randint(2, 99)}'
        world.rest.post('views/rename', {'source': {'namespace': [table.schema], 'name': name},
                                         'destination': {'namespace': [table.schema], 'name': to}})
        world.demand(name not in names(world, table.schema), f'{name} is still there under its former name')
        name = to
    else:
        world.rest.post(f'{path}/{quote(name)}', {'requirements': [], 'updates': [
            {'action': 'add-view-version', 'view-version': definition(sql)['view-version']},
            {'action': 'set-current-view-version', 'view-version-id': -1}]})
    world.demand((name in names(world, table.schema)) == (what != 'drop'), f'{what} of {name}, and the views are {names(world, table.schema)}')
    if what in ('create', 'replace'):
        expected = Truth(world, None, sql=f'{sql.replace("FROM ", "FROM lake.")}')
        found = Truth(world, None, sql=f'FROM lake.{table.schema}.{name}')
        world.demand([column for column, _ in found.columns] == [SHOWN], f'{name} has the columns {found.columns}')
        compare('rows of a view', bag_of(world, expected), bag_of(world, found), 'DuckDB by the view')


def bag_of(world, truth):
    return bag(world, truth.rows.rename_columns([SHOWN]), [(SHOWN, 'BIGINT')])


def definition(sql):
    columns = [{'id': 1, 'name': SHOWN, 'type': 'long', 'required': False}]
    return {'schema': {'type': 'struct', 'schema-id': 0, 'fields': columns}, 'properties': {},
            'view-version': {'version-id': 1, 'timestamp-ms': 1, 'schema-id': 0, 'summary': {}, 'default-namespace': [],
                             'representations': [{'type': 'sql', 'sql': sql, 'dialect': 'duckdb'}]}}


def names(world, schema):
    """Of views, those of DuckDB among them, as the catalog lists them."""
    return [entry['name'] for entry in world.rest.get(f'namespaces/{schema}/views')['identifiers']]
