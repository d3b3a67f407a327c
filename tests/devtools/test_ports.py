"""Stacks that are started at the same moment get ports of their own."""
import contextlib
import socket
import subprocess
import sys

import pytest

from stack import ports
from stack.process import StackError
from stack.stack import Stack

# Chooses, tells the port, and lives until its input ends.
CHOOSER = 'import sys\nfrom stack import ports\nprint(ports.choose(0, {}, "the test"), flush=True)\nsys.stdin.read()'


@contextlib.contextmanager
def choosers(count, default):
    """`count` programs that choose at the same time, and what each has chosen."""
    started = [subprocess.Popen([sys.executable, '-c', CHOOSER.format(default)], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, text=True)
               for _ in range(count)]
    try:
        yield [int(program.stdout.readline()) for program in started]
    finally:
        for program in started:
            program.communicate()


@contextlib.contextmanager
def listening():
    with socket.socket() as server:
        server.bind(('127.0.0.1', 0))
        server.listen()
        yield server.getsockname()[1]


def unused():
    """A port that this test has not chosen."""
    with listening() as port:
        return port


def test_a_wanted_port_is_never_replaced_and_a_default_one_is():
    with listening() as taken:
        with pytest.raises(StackError):
            ports.choose(taken, 0, 'the test')
        assert ports.choose(0, taken, 'the test') != taken


def test_a_port_that_is_in_use_can_be_chosen_when_it_is_free_again():
    with listening() as taken:
        assert not ports.take(taken)
    assert ports.choose(taken, 0, 'the test') == taken


def test_programs_that_choose_at_the_same_time_get_ports_of_their_own():
    default = unused()
    with choosers(4, default) as chosen:
        assert len(set(chosen)) == 4
        assert default in chosen


def test_a_chosen_port_is_refused_while_its_program_runs_and_given_afterwards():
    default = unused()
    with choosers(1, default) as chosen:
        assert chosen == [default]
        with pytest.raises(StackError):
            ports.choose(default, 0, 'the test')
    assert ports.choose(default, 0, 'the test') == default


def test_a_program_does_not_choose_a_port_twice():
    port = ports.choose(0, unused(), 'the first')
    assert ports.choose(0, port, 'the second') != port


def test_only_the_stack_without_a_name_of_its_own_wishes_for_the_standard_ports():
    ports_of = Stack.make('test-ports').state
    assert {ports_of['pg_port'], ports_of['s3_port'], ports_of['port']} <= set(ports.FREE_RANGE)
