"""Holds the kit's outcomes against the failures and skips that are expected.

expected_failures.txt has one line for each test that does not pass yet:
    failed catalog.testName = reason
    skipped view.testName = reason
It may only shrink: a test that passes although it is listed is a fault too,
and so is a line whose test is gone.
"""
import dataclasses
import re
import xml.etree.ElementTree as xml

SHORT = {'RESTCompatibilityKitCatalogTests': 'catalog', 'RESTCompatibilityKitViewCatalogTests': 'view'}
LINE = re.compile(r'(failed|skipped) (\S+) = (\S.*)')


@dataclasses.dataclass(frozen=True)
class Outcome:
    state: str  # passed, failed or skipped
    message: str


def read_reports(folder):
    outcomes = {}
    for report in sorted(folder.glob('TEST-*.xml')):
        for case in xml.parse(report).getroot().iter('testcase'):
            outcomes[case_name(case)] = outcome_of(case)
    return outcomes


def case_name(case):
    """catalog.method; a fault outside any test bears the name of the class alone."""
    short = SHORT[case.get('classname').rsplit('.', 1)[-1]]
    return f'{short}.{(case.get("name") or "set-up").replace(" ", "")}'


def outcome_of(case):
    for tag, state in (('failure', 'failed'), ('error', 'failed'), ('skipped', 'skipped')):
        found = case.find(tag)
        if found is not None:
            return Outcome(state, (found.get('message') or found.text or '').strip())
    return Outcome('passed', '')


def read_expectations(path):
    expected = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.startswith('#'):
            continue
        match = LINE.fullmatch(line.strip())
        if not match or match[2] in expected:
            raise SystemExit(f'{path.name}:{number}: not "failed|skipped test = reason", or named twice')
        expected[match[2]] = match[1]
    return expected


@dataclasses.dataclass
class Verdict:
    passed: int
    skipped: int  # failures and skips that the list expects
    faults: list

    def lines(self):
        yield from self.faults
        yield (f'kit: {self.passed} passed, {len(self.faults)} failed, {self.skipped} skipped '
               '(the skipped ones are listed in expected_failures.txt)')


def judge(outcomes, expected, whole_run):
    """`whole_run` says that every test ran, so that a line without a test is a fault."""
    verdict = Verdict(0, 0, [] if outcomes else ['the kit ran no test'])
    for name, outcome in sorted(outcomes.items()):
        wanted = expected.get(name, 'passed')
        if outcome.state != wanted:
            verdict.faults.append(fault(name, outcome, wanted))
        elif wanted == 'passed':
            verdict.passed += 1
        else:
            verdict.skipped += 1
    if whole_run:
        verdict.faults += [f'{name} is expected to be {state}, but there is no such test'
                           for name, state in sorted(expected.items()) if name not in outcomes]
    return verdict


def fault(name, outcome, wanted):
    detail = f': {outcome.message.splitlines()[0][:300]}' if outcome.message else ''
    return f'{name} {outcome.state} unexpectedly (expected: {wanted}){detail}'


def as_expectations(outcomes):
    for name, outcome in sorted(outcomes.items()):
        if outcome.state != 'passed':
            first = (outcome.message.splitlines() or ['no message'])[0][:200]
            yield f'{outcome.state} {name} = {first}'
