"""The summary line tells the truth, also when a phase dies without a word."""
import pytest

import report

GTEST = '''<testsuites><testsuite><testcase name="a" status="run" classname="X"/>
<testcase name="b" status="run" classname="X"><failure message="no"/></testcase>
<testcase name="c" status="notrun" classname="X"/></testsuite></testsuites>'''
CTEST = '<testsuite><testcase name="x" status="run"/><testcase name="crashed" status="fail"><failure/></testcase></testsuite>'


@pytest.fixture
def folder(tmp_path):
    (tmp_path / 'gtest').mkdir()
    return tmp_path


def test_cases_are_counted_by_their_outcome(folder):
    (folder / 'gtest/x.xml').write_text(GTEST)
    (folder / 'unit.code').write_text('8')
    assert report.phase_counts(folder, 'unit') == [1, 1, 1]


def test_a_binary_that_crashed_counts_although_it_left_no_report(folder):
    (folder / 'ctest.xml').write_text(CTEST)
    (folder / 'unit.code').write_text('8')
    assert report.phase_counts(folder, 'unit') == [0, 1, 0]


def test_a_phase_that_died_counts_as_one_failure(folder):
    (folder / 'interop.code').write_text('1')
    assert report.phase_counts(folder, 'interop') == [0, 1, 0]


def test_the_kit_is_read_from_its_last_line(folder):
    (folder / 'kit.txt').write_text('catalog.a failed unexpectedly\nkit: 140 passed, 1 failed, 16 skipped (the ...)\n')
    (folder / 'kit.code').write_text('1')
    assert report.phase_counts(folder, 'kit') == [140, 1, 16]


def test_why_tests_were_skipped_is_said_once_for_each_reason(folder, capsys):
    skipped = '<testcase classname="tests.interop.tools.test_consul" name="{}"><skipped type="pytest.{}" message="{}"/></testcase>'
    cases = [skipped.format('a', 'skip', 'no Consul'), skipped.format('b', 'skip', 'no Consul'), skipped.format('c', 'xfail', 'a known fault')]
    (folder / 'tools.xml').write_text(f'<testsuite>{"".join(cases)}</testsuite>')
    (folder / 'tools.code').write_text('0')
    assert report.phase_counts(folder, 'tools') == [0, 0, 3]
    assert capsys.readouterr().out == 'skipped: 2 of test_consul: no Consul\n'


@pytest.mark.parametrize('code, counts', [('0', [3, 0, 0]), ('1', [1, 2, 0])])
def test_what_passed_alone_is_named_and_what_did_not_has_failed(folder, capsys, code, counts):
    cases = '<testcase name="a"/><testcase name="b"><failure/></testcase><testcase name="c"><failure/></testcase>'
    (folder / 'lake.xml').write_text(f'<testsuite>{cases}</testsuite>')
    (folder / 'lake.code').write_text('1')
    (folder / 'again').mkdir()
    (folder / 'again/lake.code').write_text(code)
    (folder / 'again/lake.failed-before').write_text('/x.py::b\n/x.py::c\n')
    assert report.phase_counts(folder, 'lake') == counts
    assert ('UNSTEADY: lake: /x.py::b' in capsys.readouterr().out) == (code == '0')
