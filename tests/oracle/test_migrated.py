"""Histories in lakes of DuckLake 1.1 can fail: what is compared is the lake, as it is now."""
import os
import random

import pyarrow as pa
import pytest
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import DayTransform
from pyiceberg.types import DateType, LongType, NestedField

import format_1_1
from lake_clients.lake import Lake
from oracle import history, offered, operations  # noqa: F401  registers them
from oracle.checks import Checker
from oracle.migrated import MigratedWorld
from oracle.steps import Difference, Skip, Step
from oracle.tally import Tally
from stack.stack import Stack

INSERT = Step('duck.insert_small', 1)


@pytest.fixture
def world():
    """A migrated lake with a table that DuckDB made and a client wrote to."""
    made = MigratedWorld(Lake.of(Stack.load(os.environ.get('LAKE_STACK', 'test')).variables()))
    made.begin('oracle_1_1')
    made.run(f'CREATE TABLE lake.{made.schema}.t (n BIGINT)')
    made.run(f'INSERT INTO lake.{made.schema}.t FROM range(20)')
    made.add('t')
    made.migrate()
    append(made, 20)
    yield made
    made.leave()


def append(world, n):
    world.load(world.tables[0]).append(pa.table({'n': [n]}))


def check(world):
    world.check_rules()
    Checker(world, Tally(), thorough=True).check(world.tables[0], random.Random(1))


def version(world):
    return world.ask("SELECT value FROM ducklake_metadata WHERE key = 'version'")[0][0]


def test_what_a_client_wrote_is_read_in_the_copy(world):
    assert version(world) == '1.1'
    check(world)
    assert world.duck.execute(f'SELECT count(*) FROM {world.full_name(world.tables[0])}').fetchone() == (21,)
    append(world, 21)
    world.copied = world.ask(format_1_1.STATE)  # as if it were made already
    with pytest.raises(Difference, match='rows|snapshot'):
        check(world)


def test_a_broken_rule_is_found(world):
    world.postgres.run('UPDATE ducklake_table_stats SET record_count = 1')
    with pytest.raises(Difference, match='totals are not below the live files'):
        check(world)


def test_duckdb_writes_in_1_0_and_the_lake_is_one_of_1_1_before_and_after(world):
    before = world.snapshot()
    assert history.take(world, INSERT, Tally())
    assert version(world) == '1.1' and world.snapshot() == before + 1
    check(world)


def test_what_only_1_1_knows_is_not_turned_back(world):
    schema = Schema(NestedField(1, 'i', LongType(), required=False), NestedField(2, 'd', DateType(), required=False))
    world.catalog.create_table((world.schema, 'days'), schema, partition_spec=PartitionSpec(
        PartitionField(source_id=2, field_id=1000, transform=DayTransform(), name='d_day')))
    with pytest.raises(Skip, match='only 1.1 knows'), world.ready_for(INSERT):
        pass
    assert version(world) == '1.1'


def test_compaction_is_refused_in_1_1_alone(world):
    with pytest.raises(NotImplementedError) as refusal:
        world.rest.post(f'admin/namespaces/{world.schema}/tables/t/compact', None)
    assert offered.may_refuse('rest.compact', str(refusal.value), migrated=True)
    assert not offered.may_refuse('rest.compact', str(refusal.value), migrated=False)
