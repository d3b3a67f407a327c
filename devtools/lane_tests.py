"""A plugin for pytest: says in the file LANE_TESTS how many tests there are, and of each that ended its seconds and name.

Tests that fail are named in a file beside it, which ends in .failed, in the form in which pytest takes them; the one that runs
in another, which ends in .now.
"""
import os
import pathlib


def pytest_collection_finish(session):
    file().write_text(f'{len(session.items)}\n')


def pytest_configure(config):
    global root
    root = config.rootpath


def pytest_runtest_logstart(nodeid, location):
    file().with_suffix('.now').write_text(nodeid)


def pytest_runtest_logreport(report):
    seconds[report.nodeid] = seconds.get(report.nodeid, 0.0) + report.duration
    if report.failed and report.nodeid not in failed:
        failed.add(report.nodeid)
        with open(file().with_suffix('.failed'), 'a', encoding='utf-8') as out:
            out.write(f'{root / report.nodeid}\n')
    if report.when == 'teardown':
        with open(file(), 'a', encoding='utf-8') as out:
            out.write(f'{seconds.pop(report.nodeid):.2f} {report.nodeid}\n')


def file():
    return pathlib.Path(os.environ['LANE_TESTS'])


seconds = {}
failed = set()
root = None
