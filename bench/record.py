"""Keeps the figures of a run under bench/results/, with the commit and the machine they belong to."""
import datetime
import json
import pathlib

from machine import commit_of, machine_facts

FOLDER = pathlib.Path(__file__).resolve().parent / 'results'


def keep(results, kind=''):
    """`kind` ends the file's name: what was measured, where it is not lakeproxy beside its peer."""
    FOLDER.mkdir(exist_ok=True)
    now = datetime.datetime.now(datetime.timezone.utc)
    record = {'time': now.isoformat(timespec='seconds'), 'commit': commit_of(FOLDER),
              'machine': machine_facts(), **results}
    file = FOLDER / f'{now:%Y-%m-%dT%H%M%S}{"-" + kind if kind else ""}.json'
    file.write_text(json.dumps(record, indent=1) + '\n')
    print(f'\nkept in {file.relative_to(FOLDER.parent.parent)}')
