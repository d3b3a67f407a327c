"""One snapshot's manifests: numbers, counts and totals, what deletes refer to, and the files themselves."""
import collections

from pyiceberg.manifest import DataFileContent, FileFormat, ManifestContent, ManifestEntryStatus

from oracle.by_specification import pairs
from oracle.commits import is_vector, key, live
from oracle.data_files import check_data_file
from oracle.steps import Difference

CHECKED = set()  # lists that were looked at: they are never written twice under one name


def demand(holds, text):
    if not holds:
        raise Difference('manifests', text)


def check_snapshot(world, loaded, snapshot_id):
    snapshot = loaded.snapshot_by_id(snapshot_id)
    if snapshot.manifest_list in CHECKED:
        return
    entries_live = []
    for manifest in snapshot.manifests(loaded.io):
        demand(manifest.sequence_number <= snapshot.sequence_number, f'{manifest.manifest_path} is younger than its snapshot')
        entries = manifest.fetch_manifest_entry(loaded.io, discard_deleted=False)
        check_counts(manifest, entries)
        check_numbers(manifest, entries)
        entries_live += [entry for entry in entries if entry.status != ManifestEntryStatus.DELETED]
    check_paths(entries_live)
    check_summary(snapshot, entries_live)
    check_deletes(loaded, *live(loaded, snapshot))
    for entry in entries_live:
        check_data_file(loaded, snapshot, entry.data_file)
    CHECKED.add(snapshot.manifest_list)


def check_counts(manifest, entries):
    for status, files, rows in (
            (ManifestEntryStatus.ADDED, manifest.added_files_count, manifest.added_rows_count),
            (ManifestEntryStatus.EXISTING, manifest.existing_files_count, manifest.existing_rows_count),
            (ManifestEntryStatus.DELETED, manifest.deleted_files_count, manifest.deleted_rows_count)):
        found = [entry.data_file.record_count for entry in entries if entry.status == status]
        demand((files, rows) == (len(found), sum(found)),
               f'{manifest.manifest_path} counts {files} files and {rows} rows {status.name}, and has {len(found)} and {sum(found)}')


def check_numbers(manifest, entries):
    live = [entry for entry in entries if entry.status != ManifestEntryStatus.DELETED]
    for entry in live:
        demand(entry.sequence_number is not None and entry.snapshot_id is not None,
               f'{entry.data_file.file_path} has no sequence number or snapshot')
        demand(entry.sequence_number <= manifest.sequence_number, f'{entry.data_file.file_path} is younger than its manifest')
        content = ManifestContent.DATA if entry.data_file.content == DataFileContent.DATA else ManifestContent.DELETES
        demand(content == manifest.content, f'{entry.data_file.file_path} stands in a manifest of the other kind')
    least = min((entry.sequence_number for entry in live), default=None)
    if least is not None:
        demand(manifest.min_sequence_number <= least, f'{manifest.manifest_path}: min_sequence_number '
                                                      f'{manifest.min_sequence_number}, and a file has {least}')


def check_paths(live):
    counted = collections.Counter((entry.data_file.file_path, entry.data_file.content) for entry in live
                                  if entry.data_file.file_format != FileFormat.PUFFIN)
    twice = [path for (path, _), count in counted.items() if count > 1]
    demand(not twice, f'live twice: {twice}')


def check_summary(snapshot, live):
    data = [entry.data_file for entry in live if entry.data_file.content == DataFileContent.DATA]
    deletes = [entry.data_file for entry in live if entry.data_file.content != DataFileContent.DATA]
    wanted = {'total-data-files': len(data), 'total-records': sum(file.record_count for file in data),
              'total-delete-files': len(deletes), 'total-equality-deletes': 0,
              'total-position-deletes': sum(file.record_count for file in deletes)}
    for total, value in wanted.items():
        given = snapshot.summary.additional_properties.get(total)
        demand(given is None or int(given) == value, f'snapshot {snapshot.snapshot_id}: {total} is {given}, and there are {value}')
    added = [entry.data_file for entry in live if entry.snapshot_id == snapshot.snapshot_id
             and entry.status == ManifestEntryStatus.ADDED and entry.data_file.content == DataFileContent.DATA]
    given = snapshot.summary.additional_properties.get('added-data-files', '0')
    demand(int(given) == len(added), f'snapshot {snapshot.snapshot_id}: added-data-files is {given}, and {len(added)} were')


def check_deletes(loaded, files, delete_files):
    """Each delete names live files of its own spec and partition that are not younger than it."""
    data = {file.path: file for file in files}
    vectors = [key(file.file) for file in delete_files]
    demand(len(set(vectors)) == len(vectors), f'a delete is live twice: {sorted(vectors)}')
    for file in delete_files:
        if loaded.metadata.format_version >= 3:
            demand(is_vector(file), f'{file.path}: position deletes in format version 3')
        paths = [file.file['referenced_data_file']] if is_vector(file) else pairs(loaded, file.path)
        for path in paths:
            target = data.get(path)
            demand(target is not None, f'{file.path} deletes rows of {path}, which is not live')
            demand(target.entry['sequence_number'] <= file.entry['sequence_number'], f'{file.path} is older than {path}')
            demand(target.group == file.group, f'{file.path} has another partition than {path}')
