"""The expected failures may only shrink: the judge sees to it."""
import pytest

import judge

OUTCOMES = {'catalog.a': judge.Outcome('passed', ''), 'catalog.b': judge.Outcome('failed', 'boom\nmore'),
            'view.c': judge.Outcome('skipped', '')}
EXPECTED = {'catalog.b': 'failed', 'view.c': 'skipped'}


def test_listed_failures_and_skips_are_no_fault():
    verdict = judge.judge(OUTCOMES, EXPECTED, whole_run=True)
    assert (verdict.passed, verdict.skipped, verdict.faults) == (1, 2, [])


@pytest.mark.parametrize('change, fault', [
    ({'catalog.a': 'failed'}, 'catalog.a passed unexpectedly'),
    ({'catalog.b': 'skipped'}, 'catalog.b failed unexpectedly (expected: skipped): boom'),
    ({'catalog.gone': 'failed'}, 'catalog.gone is expected to be failed, but there is no such test'),
])
def test_each_difference_is_a_fault(change, fault):
    faults = judge.judge(OUTCOMES, {**EXPECTED, **change}, whole_run=True).faults
    assert len(faults) == 1 and faults[0].startswith(fault)


def test_an_unlisted_failure_is_a_fault():
    assert judge.judge(OUTCOMES, {'view.c': 'skipped'}, whole_run=True).faults[0].startswith('catalog.b failed')


def test_a_selection_does_not_miss_the_rest():
    assert judge.judge({'catalog.a': OUTCOMES['catalog.a']}, EXPECTED, whole_run=False).faults == []


def test_a_run_without_tests_is_a_fault():
    assert judge.judge({}, {}, whole_run=False).faults == ['the kit ran no test']


@pytest.mark.parametrize('text', ['catalog.a', 'failed catalog.a', 'failed catalog.a =', 'lost catalog.a = x',
                                  'failed catalog.a = x\nskipped catalog.a = y'])
def test_a_list_that_breaks_its_form_is_refused(tmp_path, text):
    file = tmp_path / 'expected_failures.txt'
    file.write_text(text)
    with pytest.raises(SystemExit):
        judge.read_expectations(file)
