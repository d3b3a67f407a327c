"""Many writers of one lake, through both access paths: what was acknowledged is there once, and nobody is refused without a reason."""
import os
import time

import pytest

from faults.changes import SCHEMA, rows
from faults.load import Appenders, Batches, Duck, Replacer
from faults.servers import lake_of, own_stack
from lake_clients import duck as duckdb_client
from lake_clients import iceberg as iceberg_client

SECONDS = float(os.environ.get('LAKE_MANY_WRITERS_SECONDS', '20'))
APPENDERS = 64
A_ROUND = 2 * APPENDERS  # commits
# Of DuckDB's writers: the table, and the rows of a commit. Up to ten rows it keeps in PostgreSQL.
DUCKS = (('shared', 12), ('shared', 20), ('shared', 3), ('duck_1', 12), ('duck_2', 12), ('duck_3', 3), ('duck_4', 20), ('duck_4', 12))


class World:
    def __init__(self, stack):
        self.lake = lake_of(stack)
        self.duck = duckdb_client.connect_lake(self.lake)
        self.catalog = iceberg_client.connect(self.lake)
        self.catalog.create_namespace('many')
        for name in ('shared', 'contended', 'quiet', 'duck_1', 'duck_2', 'duck_3', 'duck_4'):
            self.catalog.create_table(f'many.{name}', SCHEMA).append(rows(0))

    def url(self, name):
        return f'{self.lake.uri}/v1/{self.lake.warehouse}/namespaces/many/tables/{name}'

    def table(self, name):
        return self.catalog.load_table(f'many.{name}')

    def batches(self, name):
        return dict(self.duck.execute(f'SELECT batch, count(*) FROM lake.many.{name} GROUP BY batch').fetchall())

    def replacer(self, end, name, batches):
        return Replacer(end, self.url(name), self.catalog, f'many.{name}', batches)


@pytest.fixture
def world():
    with own_stack('many') as stack:
        yield World(stack)


def test_of_many_writers_each_commit_arrives_once(world):
    batches = Batches()
    end = time.monotonic() + SECONDS
    appenders = Appenders(APPENDERS, world.url('shared'), world.table('shared'), batches)
    ducks = [Duck(end, world.lake, f'lake.many.{name}', count, batches) for name, count in DUCKS]
    rivals = [world.replacer(end, 'contended', batches) for _ in range(2)]
    alone = world.replacer(end, 'quiet', batches)
    for writer in (*ducks, *rivals, alone):
        writer.start()
    while time.monotonic() < end:
        appenders.round(A_ROUND)
    for writer in (*ducks, *rivals, alone):
        writer.join()
    report(appenders, ducks, rivals, alone)
    nobody_failed(appenders, ducks, rivals, alone)
    all_is_there_once(world, appenders, ducks)
    replaced(world, rivals, alone)
    clients_agree(world)


def report(appenders, ducks, rivals, alone):
    took = sorted(appenders.seconds)
    print(f'\nappenders: {dict(appenders.statuses)}, {len(took) / appenders.sending:.0f} a second while they send, '
          f'median {took[len(took) // 2]:.3f} s, longest {took[-1]:.3f} s')
    print('DuckDB:', [f'{duck.count} commits, gave up {duck.gave_up}, longest {duck.longest:.1f} s' for duck in ducks])
    print('rivals:', [dict(rival.statuses) for rival in rivals], 'alone:', dict(alone.statuses))


def nobody_failed(appenders, ducks, rivals, alone):
    faults = [writer.fault for writer in (*ducks, *rivals, alone) if writer.fault]
    assert not faults, f'{len(faults)} writers failed, the first with: {faults[0]}'
    assert set(appenders.statuses) == {200}, 'an append was refused or failed'
    assert set(alone.statuses) == {200}, 'a table that only one changes has no conflicts'
    for rival in rivals:
        assert set(rival.statuses) <= {200, 409}
        assert rival.needless == 0, 'a conflict was told, and nobody had changed the table'
    assert all(duck.count for duck in ducks), 'a DuckDB writer never came through'
    assert sum(duck.gave_up for duck in ducks) <= sum(duck.count for duck in ducks) / 4, 'DuckDB writers starve'


def all_is_there_once(world, appenders, ducks):
    expected = {}
    for duck in ducks:
        expected.setdefault(duck.table.rpartition('.')[2], {0: 3}).update(duck.acknowledged)
    expected['shared'].update(appenders.acknowledged)
    for name, wanted in expected.items():
        found = world.batches(name)
        assert found == wanted, f'{name}: {difference(found, wanted)}'


def difference(found, wanted):
    lost = sorted(set(wanted) - set(found))
    strange = sorted(set(found) - set(wanted))
    other = sorted(batch for batch in set(found) & set(wanted) if found[batch] != wanted[batch])
    return f'lost {lost[:10]}, never acknowledged {strange[:10]}, other counts {other[:10]}'


def replaced(world, rivals, alone):
    """A table that is replaced holds what its last writer wrote, and has a snapshot for each."""
    assert world.batches('quiet') == (alone.acknowledged or {0: 3})
    last = world.batches('contended')
    assert last in [rival.acknowledged for rival in rivals] or last == {0: 3}
    for name, writers in (('contended', rivals), ('quiet', [alone])):
        assert len(world.table(name).metadata.snapshots) == 1 + sum(writer.count for writer in writers)


def clients_agree(world):
    for name in ('shared', 'contended', 'quiet', 'duck_1', 'duck_2', 'duck_3', 'duck_4'):
        files = [task.file for task in world.table(name).scan().plan_files()]
        assert len({file.file_path for file in files}) == len(files), f'{name}: a file is there twice'
        assert sum(file.record_count for file in files) == sum(world.batches(name).values()), name
