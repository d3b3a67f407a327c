"""A plugin for pytest: says in the file LANE_TESTS how many tests there are, and of each that ended its seconds and name."""
import os
import pathlib


def pytest_collection_finish(session):
    file().write_text(f'{len(session.items)}\n')


def pytest_runtest_logreport(report):
    seconds[report.nodeid] = seconds.get(report.nodeid, 0.0) + report.duration
    if report.when == 'teardown':
        with open(file(), 'a', encoding='utf-8') as out:
            out.write(f'{seconds.pop(report.nodeid):.2f} {report.nodeid}\n')


def file():
    return pathlib.Path(os.environ['LANE_TESTS'])


seconds = {}
