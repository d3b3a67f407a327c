"""Manifest lists and manifests that break their format, contradict each other, or name what they must not. Each is
refused with its reason and changes nothing."""
import io
import json

import fastavro
import pytest

import by_hand
from by_hand import COLUMNS, Table, appending, assert_refused, overwrite_object, rewrite, rows_of
from oracle import avro_files, commits
from oracle.avro_files import DELETED, EXISTING


@pytest.fixture(scope='module')
def table(lake, catalog, duck, watched):
    """One for all that is refused: it stays as it is."""
    duck.execute('DROP SCHEMA IF EXISTS lake.hostile CASCADE')
    duck.execute('CREATE SCHEMA lake.hostile')
    made = catalog.create_table('hostile.t', COLUMNS)
    for first in (0, 5):
        made.append(rows_of(made, range(first, first + 5)))
    return Table(lake, catalog, duck, 'hostile.t', watched.uri())


def of_list(snapshot):
    """(the update, the manifest list's place)"""
    update = snapshot.update()
    return update, update['snapshot']['manifest-list']


def list_of_bytes(content):
    def make(table):
        snapshot = appending(table)
        update, place = of_list(snapshot)
        overwrite_object(snapshot.loaded, place, content)
        return [update, commits.main_is(snapshot.id)]
    return make


def cut_list(table):
    snapshot = appending(table)
    update, place = of_list(snapshot)
    overwrite_object(snapshot.loaded, place, avro_files.fetch(snapshot.loaded, place)[:-20])
    return [update, commits.main_is(snapshot.id)]


def manifest_of_bytes(content):
    def make(table):
        snapshot = appending(table)
        listed = snapshot.manifests[-1]
        overwrite_object(snapshot.loaded, listed['manifest_path'], content)
        listed['manifest_length'] = len(content)
        return snapshot.updates()
    return make


def cut_manifest(table):
    snapshot = appending(table)
    listed = snapshot.manifests[-1]
    whole = avro_files.fetch(snapshot.loaded, listed['manifest_path'])
    overwrite_object(snapshot.loaded, listed['manifest_path'], whole[:-20])
    listed['manifest_length'] = len(whole) - 20
    return snapshot.updates()


def list_for_manifest(table):
    snapshot = appending(table)
    listed = snapshot.manifests[-1]
    content = avro_files.fetch(snapshot.loaded, snapshot.loaded.current_snapshot().manifest_list)
    overwrite_object(snapshot.loaded, listed['manifest_path'], content)
    listed['manifest_length'] = len(content)
    return snapshot.updates()


def manifest_for_list(table):
    snapshot = appending(table)
    update, place = of_list(snapshot)
    content = avro_files.fetch(snapshot.loaded, snapshot.manifests[-1]['manifest_path'])
    overwrite_object(snapshot.loaded, place, content)
    return [update, commits.main_is(snapshot.id)]


def no_list(table):
    snapshot = appending(table)
    update, place = of_list(snapshot)
    snapshot.loaded.io.delete(place)
    return [update, commits.main_is(snapshot.id)]


def no_manifest(table):
    snapshot = appending(table)
    snapshot.loaded.io.delete(snapshot.manifests[-1]['manifest_path'])
    return snapshot.updates()


def no_row(table):
    """A list whose row of the manifest is of another kind."""
    return list_of_bytes(avro({'type': 'record', 'name': 'row', 'fields': [{'name': 'x', 'type': 'long'}]}, [{'x': 1}]))(table)


def avro(schema, rows, **metadata):
    sink = io.BytesIO()
    fastavro.writer(sink, fastavro.parse_schema(schema), rows, metadata=metadata)
    return sink.getvalue()


def listed(**changes):
    """The list says something else of the new manifest."""
    def make(table):
        snapshot = appending(table)
        snapshot.manifests[-1].update(changes)
        return snapshot.updates()
    return make


def listed_more(name):
    def make(table):
        snapshot = appending(table)
        snapshot.manifests[-1][name] += 1
        return snapshot.updates()
    return make


def said(**changes):
    """The entry says something else of the new file."""
    return lambda table: appending(table, **changes).updates()


def entry(**changes):
    def make(table):
        snapshot = appending(table)
        rewrite(snapshot, lambda header, entries: entries[0].update(changes))
        return snapshot.updates()
    return make


def header(**changes):
    def make(table):
        snapshot = appending(table)
        rewrite(snapshot, lambda found, entries: found.update({key.replace('_', '-'): text for key, text in changes.items()}))
        return snapshot.updates()
    return make


def summary(**changes):
    def make(table):
        snapshot = appending(table)
        updates = snapshot.updates()
        updates[0]['snapshot']['summary'].update({key.replace('_', '-'): value for key, value in changes.items()})
        return updates
    return make


def removal_summary(**changes):
    """Of a snapshot that takes a file away."""
    def make(table):
        snapshot = table.snapshot('delete')
        snapshot.remove(table.files()[:1])
        updates = snapshot.updates()
        updates[0]['snapshot']['summary'].update({key.replace('_', '-'): value for key, value in changes.items()})
        return updates
    return make


def spec_of_both(number):
    """Header and list agree on a spec that the table does not have."""
    def make(table):
        snapshot = appending(table)
        rewrite(snapshot, lambda found, entries: found.update({'partition-spec-id': str(number)}))
        snapshot.manifests[-1]['partition_spec_id'] = number
        return snapshot.updates()
    return make


def unknown_file(status):
    """An entry about a file that the table does not have."""
    def make(table):
        snapshot = table.snapshot('overwrite')
        gone = table.files()[0]
        snapshot.remove([gone])
        other = by_hand.unread_file(snapshot.loaded, f'{snapshot.loaded.location()}/data/never.parquet')
        other.entry.update(status=status, snapshot_id=snapshot.id, sequence_number=1, file_sequence_number=1)
        snapshot.manifests.append(snapshot.write(other.schema, other.spec_id, [other.entry], 'claim'))
        return snapshot.updates()
    return make


def deleted_twice(table):
    snapshot = table.snapshot('overwrite')
    gone = table.files()[0]
    snapshot.remove([gone])
    again = {**gone.entry, 'status': DELETED, 'snapshot_id': snapshot.id}
    snapshot.manifests.append(snapshot.write(gone.schema, gone.spec_id, [again], 'claim'))
    return snapshot.updates()


def existing_beside_its_manifest(table):
    """The manifest of the file stays in the list, and another one lists it again."""
    snapshot = table.snapshot('overwrite')
    live = table.files()[0]
    again = {**live.entry, 'status': EXISTING}
    snapshot.manifests.append(snapshot.write(live.schema, live.spec_id, [again], 'claim'))
    return snapshot.updates()


def of_another_snapshot(table):
    snapshot = appending(table)
    rewrite(snapshot, lambda found, entries: entries[0].update(snapshot_id=77))
    return snapshot.updates()


def append_that_removes(table):
    snapshot = table.snapshot('append')
    snapshot.remove(table.files()[:1])
    return snapshot.updates()


def too_many_rows(table):
    """Each of two commits would do; together they are more than a lake counts."""
    snapshot = table.snapshot()
    place = f'{snapshot.loaded.location()}/data/many-'
    for n in range(2):
        snapshot.add([by_hand.unread_file(snapshot.loaded, place + str(n), record_count=2**63 - 1)])
    return snapshot.updates()


def rows_below_zero(table):
    snapshot = appending(table, record_count=-1)
    snapshot.manifests[-1]['added_rows_count'] = 0
    return snapshot.updates()


def twice_in_list(table):
    snapshot = appending(table)
    snapshot.manifests.append(dict(snapshot.manifests[-1]))
    return snapshot.updates()


GARBAGE = b'\x00\xff' * 500
REFUSED = {
    'a list that is not there': (no_list, 400, 'by-hand'),
    'a list of no bytes': (list_of_bytes(b''), 400, 'by-hand'),
    'a list of other bytes': (list_of_bytes(GARBAGE), 400, 'by-hand'),
    'a list of JSON': (list_of_bytes(json.dumps({'manifests': []}).encode()), 400, 'by-hand'),
    'a list that is cut off': (cut_list, 400, 'by-hand'),
    'a list that is only a header': (list_of_bytes(b'Obj\x01'), 400, 'by-hand'),
    'a list that claims to be long': (list_of_bytes(b'Obj\x01' + b'\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01' * 9), 400, 'by-hand'),
    'a list of other records': (no_row, 400, 'required field'),
    'a manifest in place of a list': (manifest_for_list, 400, 'required field'),
    'a manifest that is not there': (no_manifest, 400, 'by-hand'),
    'a manifest of no bytes': (manifest_of_bytes(b''), 400, 'by-hand'),
    'a manifest of other bytes': (manifest_of_bytes(GARBAGE), 400, 'by-hand'),
    'a manifest that is cut off': (cut_manifest, 400, 'by-hand'),
    'a list in place of a manifest': (list_for_manifest, 400, 'by-hand'),
    'a manifest twice': (twice_in_list, 400, 'twice'),
    'a manifest of a format version to come': (header(format_version='4'), 400, 'format version 4'),
    'a header without sense': (header(schema='{'), 400, 'by-hand'),
    'a header with a type of no meaning': (header(
        schema='{"type":"struct","fields":[{"id":1,"name":"n","type":"quaternion","required":false}]}'), 400, 'quaternion'),
    'a header of delete files': (header(content='deletes'), 400, 'content'),
    'a header of another spec than the list says': (header(partition_spec_id='7'), 400, 'spec'),
    'a list of another spec than the header says': (listed(partition_spec_id=7), 400, 'spec'),
    'a spec that the table does not have': (spec_of_both(7), 400, '7'),
    'a spec below zero': (spec_of_both(-1), 400, '-1'),
    'a list that calls data deletes': (listed(content=1), 400, 'content'),
    'a list of more added files': (listed_more('added_files_count'), 400, 'added'),
    'a list of more existing files': (listed_more('existing_files_count'), 400, 'existing'),
    'a list of more deleted files': (listed_more('deleted_files_count'), 400, 'deleted'),
    'a list of more added rows': (listed_more('added_rows_count'), 400, 'rows'),
    'a list of more existing rows': (listed_more('existing_rows_count'), 400, 'rows'),
    'a list of more deleted rows': (listed_more('deleted_rows_count'), 400, 'rows'),
    'a list of fewer than no files': (listed(added_files_count=-1), 400, 'negative'),
    'a list of more bytes': (listed_more('manifest_length'), 400, 'manifest_length'),
    'a list whose manifest is of no length': (listed(manifest_length=0), 400, 'manifest_length'),
    'a list of half a million entries': (listed(added_files_count=500_001), 413, '500000'),
    'a summary of more files': (summary(added_data_files='2'), 400, 'added-data-files'),
    'a summary of more rows': (summary(added_data_files='1', added_records='3'), 400, 'added-records'),
    'a summary of no number': (summary(added_records='many'), 400, 'added-records'),
    'a summary that removes': (summary(deleted_data_files='1'), 400, 'deleted-data-files'),
    'a summary that removes rows': (summary(deleted_records='1'), 400, 'deleted-records'),
    'a summary of delete files': (summary(added_delete_files='1'), 400, 'added-delete-files'),
    'a summary that removes delete files': (summary(removed_delete_files='1'), 400, 'removed-delete-files'),
    'a removal of more files': (removal_summary(deleted_data_files='2'), 400, 'deleted-data-files'),
    'a removal of more rows': (removal_summary(deleted_data_files='1', deleted_records='6'), 400, 'deleted-records'),
    'an append that removes': (append_that_removes, 400, 'append'),
    'a file deleted that is not live': (unknown_file(DELETED), 409, 'never.parquet'),
    'a file existing that is not live': (unknown_file(EXISTING), 409, 'never.parquet'),
    'a file deleted twice': (deleted_twice, 409, 'deleted'),
    'a file existing beside its manifest': (existing_beside_its_manifest, 409, 'existing'),
    'a file of another snapshot': (of_another_snapshot, 409, '77'),
    'a status of no meaning': (entry(status=9), 400, 'status'),
    'a content of no meaning': (said(content=7), 400, 'content'),
    'delete files in a data manifest': (lambda table: mixed(table), 400, 'content'),
    'a format of no meaning': (said(file_format='EXE'), 400, 'format'),
    'a data file of Avro': (said(file_format='AVRO'), 501, 'Parquet'),
    'rows below zero': (rows_below_zero, 400, 'record_count'),
    'a size below zero': (said(file_size_in_bytes=-1), 400, 'file_size_in_bytes'),
    'more rows than a lake counts': (too_many_rows, 400, 'record_count'),
    'a path that is empty': (said(file_path=''), 400, 'file_path'),
    'a path with a zero': (said(file_path='s3://a\0b'), 400, 'file_path'),
}


def mixed(table):
    """A manifest of data files that holds a delete file."""
    snapshot = appending(table)
    rewrite(snapshot, lambda found, entries: entries[0]['data_file'].update(content=1))
    return snapshot.updates()


@pytest.mark.parametrize('case', REFUSED)
def test_what_is_refused_changes_nothing(table, case):
    assert_refused(table, *REFUSED[case])
