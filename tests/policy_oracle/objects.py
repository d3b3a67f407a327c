"""Views, and grants on schemas, tables and views: who sees what through a login for the lake itself."""
from oracle.steps import Skip
from policy_oracle.clients import PRINCIPALS, ROLES
from policy_oracle.rules import Table, View
from policy_oracle.steps import operation

VIEWS = ('of_orders', 'of_people', 'of_events')
MOST_VIEWS = 4
RESERVED = '__mask_orders__0123456789abcdef0123456789abcdef'
SQL = 'SELECT 1 AS n'
COLUMNS = {'type': 'struct', 'schema-id': 0, 'fields': [{'id': 1, 'name': 'n', 'type': 'int', 'required': False}]}


def view_body(schema, name):
    version = {'version-id': 1, 'timestamp-ms': 1, 'schema-id': 0, 'summary': {}, 'default-namespace': [schema],
               'representations': [{'type': 'sql', 'sql': SQL, 'dialect': 'duckdb'}]}
    return {'name': name, 'schema': COLUMNS, 'view-version': version, 'properties': {}}


def free_place(world, source):
    taken = {view.place for view in world.rules.live_views}
    free = [(schema, name) for schema in world.schemas for name in VIEWS if f'{schema}.{name}' not in taken]
    if not free:
        raise Skip('every name is taken')
    return source.choice(free)


def some_view(world, source):
    if not world.rules.live_views:
        raise Skip('no view is there')
    return source.choice(world.rules.live_views)


def ask(world, who, method, path, body=None):
    world.answer = world.client(who).send(method, path, json=body)
    world.note(f'{who}: {method} {path} {body or ""} -> {world.answer.status_code}')
    return world.answer.status_code


@operation('view.create', 3)
def create(world, source):
    if len(world.rules.live_views) >= MOST_VIEWS:
        raise Skip('enough views')
    schema, name = free_place(world, source)
    if source.random() < 0.5:
        world.direct(f'CREATE VIEW lake.{schema}.{name} AS {SQL}')
    else:
        world.demand(ask(world, source.choice(list(PRINCIPALS)), 'POST', f'namespaces/{schema}/views', view_body(schema, name)), 200)
    world.rules.views.append(View(schema, name))


@operation('view.rename', 1)
def rename(world, source):
    """What was granted on it, and its tags, go along."""
    view, (schema, name) = some_view(world, source), free_place(world, source)
    move = {'source': {'namespace': [view.schema], 'name': view.name}, 'destination': {'namespace': [schema], 'name': name}}
    world.demand(ask(world, source.choice(list(PRINCIPALS)), 'POST', 'views/rename', move), 204)
    view.schema, view.name = schema, name


@operation('view.drop', 1)
def drop(world, source):
    """A new one of its name has nothing of what was granted on it."""
    view = some_view(world, source)
    if source.random() < 0.5:
        world.direct(f'DROP VIEW lake.{view.place}')
    else:
        world.demand(ask(world, source.choice(list(PRINCIPALS)), 'DELETE', f'namespaces/{view.schema}/views/{view.name}'), 204)
    view.gone = True


@operation('view.reserved', 1)
def reserved(world, source):
    """Names of masking views are nobody's to take."""
    schema, who = source.choice(world.schemas), source.choice(list(PRINCIPALS))
    if source.random() < 0.5 or not world.rules.live_views:
        status = ask(world, who, 'POST', f'namespaces/{schema}/views', view_body(schema, RESERVED))
    else:
        view = source.choice(world.rules.live_views)
        status = ask(world, who, 'POST', 'views/rename', {'source': {'namespace': [view.schema], 'name': view.name},
                                                          'destination': {'namespace': [schema], 'name': RESERVED}})
    world.demand(status, 400)


# Grants

def granting(thing, privilege, role):
    body = {'privilege': privilege, 'role': role}
    if isinstance(thing, str):
        return {'object-kind': 'schema', 'schema': thing, **body}
    return {'object-kind': 'table' if isinstance(thing, Table) else 'view', 'schema': thing.schema, 'object': thing.name, **body}


def something(world, source):
    there = [*world.schemas, *world.rules.live, *world.rules.live_views]
    return source.choice(there)


@operation('grant.object', 4)
def grant(world, source):
    """Mostly to read: one such grant closes all that is not granted to logins of the lake itself."""
    thing, role = something(world, source), source.choice(ROLES)
    privilege = source.choice(('select', 'select', 'select', 'insert', 'delete'))
    world.demand(world.govern('POST', 'object-grants', granting(thing, privilege, role)), 200)
    world.rules.object_grants.add((thing, privilege, role))


@operation('grant.revoke', 3)
def revoke(world, source):
    there = [one for one in world.rules.object_grants if isinstance(one[0], str) or not one[0].gone]
    if not there:
        raise Skip('nothing is granted')
    thing, privilege, role = source.choice(sorted(there, key=lambda one: (granting(*one)['object-kind'], getattr(one[0], 'place', one[0]), *one[1:])))
    if source.random() < 0.15:
        privilege = 'update'
    held = (thing, privilege, role) in world.rules.object_grants
    world.demand(world.govern('DELETE', 'object-grants', granting(thing, privilege, role)), 200 if held else 404)
    world.rules.object_grants.discard((thing, privilege, role))


@operation('grant.missing', 1)
def grant_missing(world, source):
    """On what is not there, or is of another kind."""
    thing = source.choice([*world.rules.live, *world.rules.live_views, Table(world.schemas[0], 'none', [])])
    body = granting(thing, 'select', source.choice(ROLES))
    if thing.name != 'none':
        body['object-kind'] = {'table': 'view', 'view': 'table'}[body['object-kind']]
    world.demand(world.govern(source.choice(('POST', 'DELETE')), 'object-grants', body), 404)
