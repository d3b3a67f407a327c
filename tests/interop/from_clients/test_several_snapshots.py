"""Commits of several snapshots, each of which stands on the one before, with delete files in the later ones."""
import re

import pyarrow as pa
import pytest

from agreement import assert_agree_always
from iceberg_tables import NUMBERED
from oracle import avro_files, by_hand_deletes, commits
from rest import Rest, assert_error


@pytest.fixture
def rest(lake):
    return Rest.of(lake)


@pytest.fixture(params=['2', '3'], ids='v{}'.format)
def table(rest, catalog, schema, request):
    """Two files of ten rows: 0 to 9 and 10 to 19."""
    made = catalog.create_table(f'{schema}.t', NUMBERED, properties={'format-version': request.param})
    for first in (0, 10):
        append = commits.Snapshot(made, 'append')
        append.add(files(made, range(first, first + 10)))
        assert send(rest, made, append).status_code == 200
        made = catalog.load_table(made.name())
    return made


def send(rest, table, *snapshots):
    updates = [*(snapshot.update() for snapshot in snapshots), commits.main_is(snapshots[-1].id)]
    return rest.post('namespaces/{}/tables/{}'.format(*table.name()),
                     {'requirements': commits.main_was(table), 'updates': updates})


def files(table, values, text='x'):
    values = list(values)
    return commits.data_files(table, pa.table({'n': values, 's': [text] * len(values)}, schema=table.schema().as_arrow()))


def deletes(table, of):
    """Delete files in the form of the table's version; `of` is (file, its positions)."""
    positions = {file.path: rows for file, rows in of}
    target = by_hand_deletes.Target(None, table, [file for file, _ in of], [])
    make = by_hand_deletes.vector_files if table.metadata.format_version >= 3 else by_hand_deletes.position_delete_files
    return make(target, positions)


def equality_deletes(table, *values):
    spec = table.spec()
    everywhere = commits.Live(spec.spec_id, avro_files.entry_schema(table, spec), commits.new_entry({'partition': {}}))
    keys = pa.table([list(values)], schema=pa.schema([commits.numbered('n', pa.int64(), 1)]))
    return [commits.delete_file(table, keys, avro_files.EQUALITY_DELETES, everywhere, [1])]


def old_files(table):
    return commits.live(table)[0]


def snapshot(table, parent=None, added=(), removed=()):
    number = parent.number - table.metadata.last_sequence_number + 1 if parent else 1
    made = commits.Snapshot(table, 'overwrite', parent, number)
    made.remove(list(removed))
    made.add([*added])
    return made


def numbers(duck, table):
    """At each snapshot of the lake that the table has."""
    name = '.'.join(table.name())
    return [sorted(n for n, in duck.execute(f'SELECT n FROM lake.{name} AT (VERSION => {one.snapshot_id})').fetchall())
            for one in table.snapshots()]


def test_deletes_of_older_and_of_new_files(rest, duck, catalog, truth, readers, table):
    old, = [file for file in old_files(table) if file.entry['sequence_number'] == table.snapshots()[0].sequence_number]
    added = files(table, range(20, 30))
    first = snapshot(table, added=added)
    second = snapshot(table, first, deletes(table, [(old, [0, 1]), (added[0], [5])]))
    third = snapshot(table, second, [*files(table, [40]), *deletes(table, [(old_files(table)[1], [9])])])
    answer = send(rest, table, first, second, third)
    assert answer.status_code == 200, answer.text
    table = catalog.load_table(table.name())
    all_20 = list(range(20))
    assert numbers(duck, table)[2:] == [[*all_20, *range(20, 30)], [*all_20[2:], 20, 21, 22, 23, 24, 26, 27, 28, 29],
                                        [*all_20[2:19], 20, 21, 22, 23, 24, 26, 27, 28, 29, 40]]
    assert assert_agree_always(truth, readers, catalog, '.'.join(table.name())) == 27


def test_deletes_are_replaced_and_taken_back(rest, duck, catalog, truth, readers, table):
    """The second snapshot's delete files go in the third: some rows stay deleted by others, some are back."""
    new, = files(table, range(20, 30))
    old = old_files(table)[0]
    first = snapshot(table, added=[new, *deletes(table, [(old, [0])])])
    mine = deletes(table, [(new, [0, 1])])
    second = snapshot(table, first, mine)
    third = snapshot(table, second, deletes(table, [(new, [1, 2])]), removed=mine)
    fourth = snapshot(table, third, removed=[old])
    answer = send(rest, table, first, second, third, fourth)
    assert answer.status_code == 200, answer.text
    table = catalog.load_table(table.name())
    ten = [*range(1, 20)]
    assert numbers(duck, table)[2:] == [[*ten, *range(20, 30)], [*ten, *range(22, 30)], [*ten, 20, *range(23, 30)],
                                        [*range(10, 20), 20, *range(23, 30)]]
    assert assert_agree_always(truth, readers, catalog, '.'.join(table.name())) == 18
    name = '.'.join(table.name())
    duck.execute(f'DELETE FROM lake.{name} WHERE n = 23')
    assert assert_agree_always(truth, readers, catalog, name) == 17


def test_equality_deletes_count_in_files_that_are_older_than_their_snapshot(rest, duck, catalog, truth, readers, table):
    first = snapshot(table, added=files(table, [5, 6, 100], 'first'))
    second = snapshot(table, first, [*files(table, [5, 7], 'second'), *equality_deletes(table, 5, 100)])
    third = snapshot(table, second, equality_deletes(table, 7))
    answer = send(rest, table, first, second, third)
    assert answer.status_code == 200, answer.text
    table = catalog.load_table(table.name())
    shown = list(range(20))
    assert numbers(duck, table)[2:] == [sorted([*shown, 5, 6, 100]), sorted([*shown, 6, 7]),
                                        sorted([*(n for n in shown if n != 7), 6])]
    assert assert_agree_always(truth, readers, catalog, '.'.join(table.name())) == 20
    assert duck.execute(f"SELECT s FROM lake.{'.'.join(table.name())} WHERE n = 5").fetchall() == [('second',)]


def test_equality_deletes_of_the_same_commit_go_again(rest, duck, catalog, truth, readers, table):
    """What only the one that went had deleted is back; what others delete, by value or by position, is not."""
    new = files(table, range(20, 25))
    old = old_files(table)[0]
    goes, stays = equality_deletes(table, 0, 1, 2, 20), equality_deletes(table, 2, 21)
    first = snapshot(table, added=new)
    second = snapshot(table, first, [*goes, *stays, *deletes(table, [(old, [0])])])
    third = snapshot(table, second, files(table, [1]), removed=goes)
    fourth = snapshot(table, third, equality_deletes(table, 1))
    answer = send(rest, table, first, second, third, fourth)
    assert answer.status_code == 200, answer.text
    table = catalog.load_table(table.name())
    by_position = {0 if old.entry['sequence_number'] == table.snapshots()[0].sequence_number else 10}
    shown = list(range(25))
    assert numbers(duck, table)[2:] == [
        shown, sorted(set(shown) - {0, 1, 2, 20, 21} - by_position), sorted([*set(shown) - {2, 21} - by_position, 1]),
        sorted(set(shown) - {1, 2, 21} - by_position)]
    assert_agree_always(truth, readers, catalog, '.'.join(table.name()))


def with_inlined_rows(duck, catalog, table):
    """Five rows more that DuckDB keeps in PostgreSQL, of which one is gone, and the file that shows them."""
    name = '.'.join(table.name())
    duck.execute(f"INSERT INTO lake.{name} SELECT n, 'small' FROM range(50, 55) r(n)")
    duck.execute(f'DELETE FROM lake.{name} WHERE n = 54')
    table = catalog.load_table(table.name())
    return table, max(old_files(table), key=lambda file: file.entry['sequence_number'])


def test_rows_of_postgresql_come_back_in_a_later_snapshot(rest, duck, catalog, truth, readers, table):
    table, group = with_inlined_rows(duck, catalog, table)
    shown = commits.live(table)[1]
    assert len(shown) == 1, 'the row that DuckDB has deleted'
    mine, others = deletes(table, [(group, [0, 1, 4])]), deletes(table, [(group, [1, 2])])
    first = snapshot(table, added=[*files(table, [60]), *mine], removed=shown)
    second = snapshot(table, first, others, removed=mine)
    third = snapshot(table, second, files(table, [61]), removed=others)
    answer = send(rest, table, first, second, third)
    assert answer.status_code == 200, answer.text
    table = catalog.load_table(table.name())
    twenty = list(range(20))
    assert numbers(duck, table)[-3:] == [[*twenty, 52, 53, 60], [*twenty, 50, 53, 54, 60], [*twenty, 50, 51, 52, 53, 54, 60, 61]]
    name = '.'.join(table.name())
    assert assert_agree_always(truth, readers, catalog, name) == 27
    duck.execute(f'DELETE FROM lake.{name} WHERE n IN (50, 53)')
    assert assert_agree_always(truth, readers, catalog, name) == 25


def test_equality_deletes_of_rows_of_postgresql_go_again(rest, duck, catalog, truth, readers, table):
    table, _ = with_inlined_rows(duck, catalog, table)
    goes = equality_deletes(table, 50, 51, 54, 3)
    first = snapshot(table, added=[*goes, *equality_deletes(table, 51)])
    second = snapshot(table, first, removed=goes)
    answer = send(rest, table, first, second)
    assert answer.status_code == 200, answer.text
    table = catalog.load_table(table.name())
    twenty = list(range(20))
    assert numbers(duck, table)[-2:] == [[n for n in twenty if n != 3] + [52, 53], [*twenty, 50, 52, 53]]
    assert assert_agree_always(truth, readers, catalog, '.'.join(table.name())) == 23


def test_rows_of_postgresql_go_and_come_back_once_in_a_commit(rest, duck, catalog, table):
    table, group = with_inlined_rows(duck, catalog, table)
    shown = commits.live(table)[1]
    first = snapshot(table, removed=shown)
    second = snapshot(table, first, deletes(table, [(group, [4])]))
    before = duck.execute("SELECT max(snapshot_id) FROM ducklake_snapshots('lake')").fetchone()
    answer = send(rest, table, first, second)
    assert_error(answer, 501)
    assert 'came back earlier in the same commit' in answer.json()['error']['message']
    assert duck.execute("SELECT max(snapshot_id) FROM ducklake_snapshots('lake')").fetchone() == before


def by_unknown(table):
    stranger, = files(table, [1])
    first = snapshot(table, added=files(table, [20]))
    return first, snapshot(table, first, deletes(table, [(stranger, [0])]))


def by_removed(table):
    gone = old_files(table)[0]
    first = snapshot(table, removed=[gone])
    return first, snapshot(table, first, deletes(table, [(gone, [0])]))


def by_position(table):
    added, = files(table, [20, 21])
    first = snapshot(table, added=[added])
    return first, snapshot(table, first, deletes(table, [(added, [2])]))


@pytest.mark.parametrize('made, status, why', [
    (by_unknown, 409, 'deletes rows of no live data file'),
    (by_removed, 409, 'deletes rows of no live data file'),
    (by_position, 400, 'deletes row 2 of .* which has 2 rows'),
], ids=['unknown', 'removed', 'position'])
def test_what_does_not_fit_changes_nothing(rest, duck, catalog, table, made, status, why):
    before = duck.execute("SELECT max(snapshot_id) FROM ducklake_snapshots('lake')").fetchone()
    answer = send(rest, table, *made(table))
    assert_error(answer, status)
    assert re.search(why, answer.json()['error']['message']), answer.text
    assert duck.execute("SELECT max(snapshot_id) FROM ducklake_snapshots('lake')").fetchone() == before
    assert catalog.load_table(table.name()).metadata == table.metadata
