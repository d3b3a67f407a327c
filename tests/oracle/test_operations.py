"""Operations can fail: each of these tells an operation a lie about what it did, and must be found."""
import contextlib
import os
import random
from unittest import mock

import pytest
from pyiceberg.table import Transaction

from lake_clients.lake import Lake
from oracle import operations  # noqa: F401  registers them
from oracle.checks import Checker
from oracle.steps import OPERATIONS, Difference
from oracle.tally import Tally
from oracle.world import World
from stack.stack import Stack

FIELDS = [{'id': 1, 'name': 'n', 'type': 'int', 'required': False}, {'id': 2, 'name': 's', 'type': 'string', 'required': False}]
# What makes a schema and a spec that nothing uses, behind rows that use the first.
PREPARED = ("INSERT INTO {} SELECT n, 'a' FROM range(30) t(n)", 'ALTER TABLE {} ADD COLUMN one INTEGER', 'ALTER TABLE {} ADD COLUMN two INTEGER',
            'ALTER TABLE {} SET PARTITIONED BY (s)', 'ALTER TABLE {} SET PARTITIONED BY (n)', 'ALTER TABLE {} RESET PARTITIONED BY')


@pytest.fixture(scope='module')
def lake_world():
    return World(Lake.of(Stack.load(os.environ.get('LAKE_STACK', 'test')).variables()))


@pytest.fixture
def world(lake_world):
    lake_world.begin('oracle_lies')
    lake_world.rest.post('namespaces/oracle_lies/tables', {'name': 't', 'schema': {'type': 'struct', 'fields': FIELDS}})
    lake_world.add('t')
    for statement in PREPARED:
        lake_world.duck.execute(statement.format('lake.oracle_lies.t'))
    yield lake_world
    lake_world.end()


def do(world, name, seed=1):
    """The operation, and the comparison after it."""
    OPERATIONS[name].apply(world, random.Random(seed))
    checker = Checker(world, Tally())
    checker.check_names()
    for table in list(world.tables):
        checker.check(table, random.Random(1))


def instead(owner, name, made):
    return mock.patch.object(owner, name, made(getattr(owner, name)))


def does_nothing(world):
    """A catalog that says yes to every change and makes none."""
    return instead(world.rest, 'commit', lambda original: lambda *arguments: None)


def refuses_nothing(world):
    """One that makes the changes that are right, and says yes to the others."""
    def made(original):
        def commit(*arguments):
            with contextlib.suppress(RuntimeError):
                original(*arguments)
        return commit
    return instead(world.rest, 'commit', made)


def shows(**lists):
    """One that shows something else than it keeps, once a change was made."""
    def told(world):
        changed = []

        def commits(original):
            return lambda *arguments: changed.append(original(*arguments))

        def loads(original):
            def load(table):
                loaded = original(table)
                for name, change in lists.items() if changed else ():
                    vars(loaded.metadata)[name] = change(getattr(loaded.metadata, name))
                return loaded
            return load
        stack = contextlib.ExitStack()
        stack.enter_context(instead(world.rest, 'commit', commits))
        stack.enter_context(instead(world, 'load', loads))
        return stack
    return told


def keeps_views(world):
    return instead(world.rest, 'post', lambda original: lambda path, body: None if '/views' in path else original(path, body))


def counts_wrongly(world):
    """A view whose query is another."""
    def made(original):
        def post(path, body):
            text = body['view-version']['representations'][0]
            text['sql'] = text['sql'].replace('count(*)', 'count(*) + 1')
            return original(path, body)
        return post
    return instead(world.rest, 'post', made)


def loses_a_row(world):
    """A compaction after which there is one row less."""
    def made(original):
        def post(path, body):
            answer = original(path, body)
            if path.endswith('/compact'):
                world.renew()
                world.duck.execute('DELETE FROM lake.oracle_lies.t WHERE n = 7')
            return answer
        return post
    return instead(world.rest, 'post', made)


def counts_less(world):
    def made(original):
        def post(path, body):
            answer = original(path, body)
            answer['after']['rows'] -= 1
            return answer
        return post
    return instead(world.rest, 'post', made)


def forgets_rows(world):
    """The first append to a table is lost."""
    return mock.patch.object(Transaction, 'append', lambda self, rows: None)


def hides_views(world):
    def made(original):
        return lambda path: {'identifiers': []} if path.endswith('/views') and world.views('oracle_lies') else original(path)
    return instead(world.rest, 'get', made)


def without_last(items):
    return items[:-1]


def without_first(items):
    return items[1:]


# Name: (operation, the lie, the checks of which one must find it).
LIES = {
    'schemas stay': ('rest.remove_schemas', does_nothing, 'operation'),
    'the current schema goes': ('rest.remove_schemas', refuses_nothing, 'operation'),
    'another schema goes': ('rest.remove_schemas', shows(schemas=without_first), 'operation'),
    'specs stay': ('rest.remove_partition_specs', does_nothing, 'operation'),
    'the default spec goes': ('rest.remove_partition_specs', refuses_nothing, 'operation'),
    'another spec goes': ('rest.remove_partition_specs', shows(partition_specs=without_first), 'operation'),
    'partition statistics are lost': ('rest.partition_statistics', does_nothing, 'operation'),
    'partition statistics of any snapshot': ('rest.partition_statistics', refuses_nothing, 'operation'),
    'partition statistics are of another': ('rest.partition_statistics', shows(
        partition_statistics=lambda files: [file.model_copy(update={'snapshot_id': 7}) for file in files]), 'operation'),
    'statistics are of a removed snapshot': ('rest.statistics', shows(
        statistics=lambda files: [file.model_copy(update={'snapshot_id': 7}) for file in files]), 'metadata'),
    'a table may move': ('rest.nothing_new', does_nothing, 'operation'),
    'a table has moved': ('rest.nothing_new', shows(location=lambda place: place + '-elsewhere'), 'operation'),
    'a replaced table keeps its rows': ('rest.replace_table', does_nothing, 'operation'),
    'a staged table comes without its rows': ('pyiceberg.create_with_rows', forgets_rows, 'effect of the operation'),
    'a compaction loses a row': ('rest.compact', loses_a_row, 'effect of the operation'),
    'a compaction counts wrongly': ('rest.compact', counts_less, 'operation'),
    'a view is not made': ('rest.view', keeps_views, 'operation'),
    'a view is another': ('rest.view', counts_wrongly, 'rows of a view'),
    'a view is not listed': ('rest.view', hides_views, 'operation'),
}


@pytest.mark.parametrize('name', sorted({name for name, _, _ in LIES.values()}))
def test_the_truth_passes(world, name):
    do(world, name)


@pytest.mark.parametrize(('name', 'lie', 'finds'), LIES.values(), ids=LIES)
def test_a_lie_is_found(world, name, lie, finds):
    with lie(world), pytest.raises(Difference) as difference:
        do(world, name)
    assert difference.value.check == finds
