"""Lanes run side by side, tell how far they are, and none fails without a word."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

import costs
import lanes
from stack.process import wait_until

# What stands in for ./dev: a lane does what the file of its name says.
DEV = '''#!/usr/bin/env bash
results=$(dirname "$0") name=$2
date +%s.%N >"$results/$name.begin"
source "$results/$name.does"
code=$?
date +%s.%N >"$results/$name.end"
exit $code
'''


@pytest.fixture
def results(tmp_path, monkeypatch):
    dev = tmp_path / 'dev'
    dev.write_text(DEV)
    dev.chmod(0o755)
    monkeypatch.setattr(lanes, 'DEV', dev)
    return tmp_path


def run(results, monkeypatch, at_once, **does):
    for name, text in does.items():
        (results / f'{name}.does').write_text(text)
    monkeypatch.setattr(sys, 'argv', ['lanes', str(results), str(at_once), 'dev', *does])
    with pytest.raises(SystemExit) as ended:
        lanes.main()
    return ended.value.code


def moment(results, name):
    return float((results / name).read_text())


def test_a_lane_that_fails_shows_its_words_and_fails_the_run(results, monkeypatch, capsys):
    assert run(results, monkeypatch, 2, good='echo fine', bad='echo the reason; false') == 1
    shown = capsys.readouterr().out
    assert 'the reason' in shown and 'bad FAILED' in shown and 'good done' in shown and 'fine' not in shown
    assert ((results / 'bad.code').read_text(), (results / 'good.code').read_text()) == ('1', '0')


def test_as_many_lanes_run_at_once_as_were_asked_for(results, monkeypatch):
    waits = 'for i in {1..600}; do [[ -e "$results/c.begin" ]] && break; sleep 0.1; done'
    assert run(results, monkeypatch, 2, a=waits, b='sleep 0.1', c='true') == 0
    assert moment(results, 'b.begin') < moment(results, 'a.end')
    assert moment(results, 'b.end') <= moment(results, 'c.begin') < moment(results, 'a.end')


def test_what_each_test_took_is_kept(results, monkeypatch, capsys):
    tests = 'printf "2\\n1.50 x.py::one two\\n0.25 x.py::other\\n" >"$results/some.tests"'
    assert run(results, monkeypatch, 1, some=tests) == 0
    assert json.loads((results / 'times.json').read_text())['some']['tests'] == {'x.py::one two': 1.5, 'x.py::other': 0.25}
    assert '1.5 s  some: x.py::one two' in capsys.readouterr().out


def test_the_time_left_follows_the_last_run(results):
    lane = lanes.Lane('some', results, {'whole': 100.0, 'tests': {'long': 60.0, 'short': 20.0}})
    assert lane.left() == 100.0
    (results / 'some.tests').write_text('2\n61.0 long\n')
    assert lane.left() == pytest.approx(25.0)
    assert lanes.time_left([lane, lane, lane], 2) == pytest.approx(37.5 / 60)


def test_without_a_last_run_the_time_left_follows_what_was_done(results):
    lane = lanes.Lane('some', results, None)
    assert lane.left() is None and lanes.time_left([lane], 1) is None
    lane.began = time.monotonic() - 10
    (results / 'some.tests').write_text('4\n5 a\n5 b\n')
    assert lane.left() == pytest.approx(10, abs=1)
    assert lane.line() == 'some 2 of 4'


def test_the_lane_that_took_longest_begins_first(results, monkeypatch):
    (results / 'times.json').write_text(json.dumps({name: {'whole': seconds, 'tests': {}} for name, seconds in (('a', 1), ('b', 9))}))
    assert run(results, monkeypatch, 1, a='true', b='true', new='true') == 0
    assert moment(results, 'new.end') <= moment(results, 'b.begin') and moment(results, 'b.end') <= moment(results, 'a.begin')


def test_lines_of_ctest_are_read(results):
    lane = lanes.Lane('unit', results, None)
    (results / 'unit.log').write_text(' 1/53 Test  #7: base_core_test ......   Passed    0.31 sec\n'
                                      ' 2/53 Test #11: lake_test ..........***Failed    2.00 sec\n')
    assert lane.tests() == ({'base_core_test': 0.31, 'lake_test': 2.0}, 53)


FAILS_ONCE = 'echo the reason; [[ -n ${LANE_AGAIN:-} ]] || { echo /x.py::one >>"$results/some.failed"; false; }'
FAILS_TWICE = 'echo /x.py::one >>"$results/some.failed"; false'


def test_a_test_that_fails_beside_others_runs_once_more_alone(results, monkeypatch, capsys):
    assert run(results, monkeypatch, 2, some=FAILS_ONCE, other='true') == 0
    shown = capsys.readouterr().out
    assert 'some FAILED' in shown and 'the reason' in shown and 'some once more, alone: /x.py::one' in shown
    assert (results / 'again/some.code').read_text() == '0'


def test_a_test_that_fails_twice_fails_the_run(results, monkeypatch):
    assert run(results, monkeypatch, 2, some=FAILS_TWICE) == 1


@pytest.mark.parametrize('name, does', [
    ('some', 'for i in 1 2 3 4; do echo /x.py::$i >>"$results/some.failed"; done; false'),  # too many
    ('some', 'false'),  # it died before it could name one
    ('some', 'echo /x.py::one >>"$results/some.failed"; exit 3'),  # pytest itself broke
    ('oracle', 'echo /x.py::one >>"$results/oracle.failed"; false'),  # a difference of rows is no accident
    ('unit', 'printf "\t  7 - lake_test (SEGFAULT)\n"; exit 8'),
    ('unit', 'printf "\t  7 - lake_test (Failed)\n\t  9 - tool_test (SEGFAULT)\n"; exit 8')])
def test_what_is_no_accident_does_not_run_again(results, monkeypatch, name, does):
    assert run(results, monkeypatch, 2, **{name: f'[[ -n ${{LANE_AGAIN:-}} ]] || {{ {does}; }}'}) == 1
    assert not (results / 'again').exists()


def test_a_unit_test_that_failed_runs_again(results, monkeypatch):
    once = '[[ -n ${LANE_AGAIN:-} ]] || { printf "\t  7 - lake_test (Failed)\n"; exit 8; }'
    assert run(results, monkeypatch, 2, unit=once) == 0


def test_lanes_end_with_the_program_that_runs_them(results):
    (results / 'some.does').write_text('trap "touch $results/cleaned" EXIT; : >"$results/waits"; sleep 60')
    program = f'import lanes, pathlib, sys\nlanes.DEV = pathlib.Path({str(results / "dev")!r})\nlanes.main()'
    with subprocess.Popen([sys.executable, '-c', program, str(results), '1', 'dev', 'some'], env=os.environ) as runner:
        assert wait_until((results / 'waits').exists, 10)
        runner.send_signal(signal.SIGTERM)
        # A shell that starts its next program just then takes no notice, and is told again.
        assert runner.wait(sum(lanes.SECONDS_TO_END) + 30) != 0
    assert (results / 'cleaned').exists()


BURN = 'import time; end = time.process_time() + {}\nwhile time.process_time() < end: pass'


def test_processor_time_is_told_by_program_and_test(results, monkeypatch, capsys):
    """Also of a program that outlives who started it, and of one that is seen by nobody."""
    (results / 'left.sh').write_text(f'setsid {sys.executable} -c "{BURN.format(0.7)}" & echo $! >"$results/pid"\n')
    waits = 'while kill -0 "$(<"$results/pid")" 2>/dev/null; do sleep 0.1; done'
    does = f'echo -n "x.py::burns" >"$results/some.now"; (source "$results/left.sh"); {waits}; {sys.executable} -c pass'
    assert run(results, monkeypatch, 1, some=does) == 0
    kept = json.loads((results / 'times.json').read_text())['some']
    assert kept['processor'] >= 0.7 and sum(kept['programs'].values()) == pytest.approx(kept['processor'], abs=0.5)
    assert kept['costs']['x.py::burns'] > 0
    assert 'some: x.py::burns' in capsys.readouterr().out


def test_what_a_program_costs_is_counted_once():
    """It is seen first as its own, then again as that of its parent, which waited for it."""
    lane = costs.LaneCosts(pathlib.Path('/nowhere'))
    shell, child = costs.Process(0, 1, 'bash', 1.0, 0.0), costs.Process(10, 2, 'duckdb', 3.0, 0.5)
    lane.look({10: shell, 11: child})
    lane.look({10: shell._replace(ended=4.0)})
    assert lane.programs == {'bash': 1.0, 'duckdb': 3.0, 'ended beneath duckdb': 0.5, 'ended beneath bash': 0.5}
    lane.look({10: shell._replace(ended=6.0), 11: child._replace(start=9, own=1.0, ended=0.0)})
    lane.whole(9.0)
    assert lane.programs == {'bash': 1.0, 'duckdb': 4.0, 'ended beneath duckdb': 0.5, 'ended beneath bash': 2.5, 'unseen': 1.0}


def test_what_outlives_who_started_it_is_counted_once():
    lane = costs.LaneCosts(pathlib.Path('/nowhere'))
    shell, starter, server = costs.Process(0, 1, 'bash', 1.0, 0.0), costs.Process(10, 2, 'up', 0.5, 0.0), costs.Process(11, 3, 'minio', 3.0, 0.0)
    lane.look({10: shell, 11: starter, 12: server})
    lane.look({10: shell._replace(ended=4.5)})  # which adopted the server when the other had ended
    assert lane.programs == {'bash': 1.0, 'up': 0.5, 'minio': 3.0, 'ended beneath bash': pytest.approx(1.0)}
