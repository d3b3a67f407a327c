"""Adds up what the phases or lanes of a test run left behind, and prints the one summary line.

usage: report.py RESULTS_FOLDER
A phase that failed without naming a test (it crashed, or did not build)
counts as one failed test. A test that failed beside others and passed alone counts
as passed, and is named as unsteady. Why tests were skipped is said once for each reason.
"""
import collections
import pathlib
import re
import sys
import xml.etree.ElementTree as xml

KIT_LINE = re.compile(r'(\d+) passed, (\d+) failed, (\d+) skipped')


def junit_counts(files):
    """[passed, failed, skipped] over JUnit reports, ours and GoogleTest's."""
    counts = [0, 0, 0]
    for file in files:
        for case in xml.parse(file).getroot().iter('testcase'):
            counts[outcome(case)] += 1
            if outcome(case) == 1:
                print(f'failed: {case.get("classname")}.{case.get("name")}')
    return counts


def outcome(case):
    if case.find('failure') is not None or case.find('error') is not None:
        return 1
    skipped = case.find('skipped') is not None or case.get('status') in ('notrun', 'disabled')
    return 2 if skipped else 0


def tell_skipped(files):
    """Those that wait for something that is not there; not those that are known to fail."""
    reasons = collections.Counter()
    for file in files:
        for case in xml.parse(file).getroot().iter('testcase'):
            found = case.find('skipped')
            if found is not None and found.get('type') == 'pytest.skip':
                reasons[case.get('classname', '').rsplit('.', 1)[-1], found.get('message')] += 1
    for (module, reason), count in sorted(reasons.items()):
        print(f'skipped: {count} of {module}: {reason}')


def unit_counts(folder):
    counts = junit_counts(sorted((folder / 'gtest').glob('*.xml')))
    # A binary that crashed leaves no report of its own, but ctest knows.
    binaries = junit_counts(folder.glob('ctest.xml'))
    counts[1] = max(counts[1], binaries[1])
    return counts


def kit_counts(folder):
    file = folder / 'kit.txt'
    found = KIT_LINE.findall(file.read_text()) if file.exists() else []
    return [int(number) for number in found[-1]] if found else [0, 0, 0]


def phase_counts(folder, phase):
    special = {'unit': unit_counts, 'kit': kit_counts}
    counts = special[phase](folder) if phase in special else junit_counts(folder.glob(f'{phase}.xml'))
    tell_skipped(folder.glob(f'{phase}.xml'))
    if (folder / f'{phase}.code').read_text().strip() != '0' and counts[1] == 0:
        counts[1] = 1
    return steady(folder / 'again', phase, counts)


def steady(again, phase, counts):
    """The counts once those that passed alone (lanes.py) are taken for what they are."""
    code = again / f'{phase}.code'
    if not code.exists() or code.read_text().strip() != '0':
        return counts
    for name in (again / f'{phase}.failed-before').read_text().splitlines():
        print(f'UNSTEADY: {phase}: {name} failed beside other tests and passed alone; its first failure is shown above')
    return [counts[0] + counts[1], 0, counts[2]]


def main():
    folder = pathlib.Path(sys.argv[1])
    total = [0, 0, 0]
    for phase in sorted(file.stem for file in folder.glob('*.code')):
        counts = phase_counts(folder, phase)
        print(f'{phase}: {counts[0]} passed, {counts[1]} failed, {counts[2]} skipped')
        total = [sum(pair) for pair in zip(total, counts)]
    if not any(total):
        print('no test has such a name', file=sys.stderr)
        total[1] = 1
    print(f'{total[0]} passed, {total[1]} failed, {total[2]} skipped')
    sys.exit(1 if total[1] else 0)


if __name__ == '__main__':
    main()
