"""Where the processor time of a test run goes: by lane, program and test, as seen from outside twice a second.

A lane adopts what its programs leave behind (adopt_orphans), so all that it started hangs below it, and its whole time is known
to the kernel when it ends. How the whole divides is sampled: what a test began and ended between two looks goes to the program
that waited for it.
"""
import collections
import ctypes
import os
import pathlib
import time
import typing

SECONDS_BETWEEN_LOOKS = 0.5
TICK = 1 / os.sysconf('SC_CLK_TCK')
PR_SET_CHILD_SUBREAPER = 36
LIBC = ctypes.CDLL(None)
SHOWN_PROGRAMS, SHOWN_TESTS = 5, 15


def adopt_orphans():
    """From now on this process, and the program that it becomes, is the parent of children whose own parent ended."""
    LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


class Process(typing.NamedTuple):
    parent: int
    start: int
    command: str
    own: float  # seconds of its own
    ended: float  # seconds of its children that it waited for, and of theirs


def processes():
    """All that run, by their id."""
    found = {}
    for name in os.listdir('/proc'):
        if name.isdigit():
            try:
                stat = pathlib.Path(f'/proc/{name}/stat').read_text(errors='replace')
            except (FileNotFoundError, ProcessLookupError):
                continue  # it ended just now
            fields = stat[stat.rindex(')') + 2:].split()
            user, system, ended_user, ended_system = (int(field) * TICK for field in fields[11:15])
            found[int(name)] = Process(int(fields[1]), int(fields[19]), stat[stat.index('(') + 1:stat.rindex(')')],
                                       user + system, ended_user + ended_system)
    return found


def below(all_processes, root):
    """`root` and all that it started, directly or not."""
    children = collections.defaultdict(list)
    for pid, process in all_processes.items():
        children[process.parent].append(pid)
    found, rest = {}, [root] if root in all_processes else []
    while rest:
        pid = rest.pop()
        found[pid] = all_processes[pid]
        rest += children[pid]
    return found


def program_name(pid, command):
    """What a reader knows a process by: of an interpreter, what it runs."""
    if not command.startswith('python'):
        return command
    try:
        words = pathlib.Path(f'/proc/{pid}/cmdline').read_text(errors='replace').split('\0')
    except (FileNotFoundError, ProcessLookupError):
        return command
    runs = [words[place + 1] for place, word in enumerate(words[:-1]) if word == '-m']
    runs += [word.rpartition('/')[2] for word in words[1:] if word.endswith('.py')]
    return f'{command} {runs[0]}' if runs else command


class LaneCosts:
    """Of one lane, from its first look to its last."""

    def __init__(self, now):
        self.now = now  # the file that names the test that runs (lane_tests.py)
        self.programs = collections.Counter()
        self.tests = collections.Counter()
        self.known = {}
        self.names = {}

    def look(self, found):
        """`found` are the processes of the lane."""
        gone = collections.Counter()
        for pid, process in self.known.items():
            if pid not in found or found[pid].start != process.start:
                gone[process.parent] += process.own + process.ended
        ended = {}
        for pid, process in found.items():
            before = self.known.get(pid)
            if before is None or before.start != process.start:
                before = process._replace(command='', own=0.0, ended=0.0)
            if before.command != process.command:
                self.names[pid] = program_name(pid, process.command)
            self.add(self.names[pid], process.own - before.own)
            ended[pid] = process.ended - before.ended - gone.pop(pid, 0.0)
        # Of children that ended all was added while they were seen, and the rest is still to be told. What is left in `gone` had
        # a parent that ended as well: somebody above it waited for both.
        untold = sum(ended.values()) - gone.total()
        most = sum(seconds for seconds in ended.values() if seconds > 0)
        for pid, seconds in ended.items():
            if seconds > 0:
                self.add(f'ended beneath {self.names[pid]}', seconds * untold / most)
        self.known = found

    def add(self, program, seconds):
        if seconds > 0:
            self.programs[program] += seconds
            self.tests[self.now.read_text() if self.now.exists() else ''] += seconds

    def whole(self, seconds):
        """Said when the lane has ended: what was never seen is told apart."""
        unseen = seconds - self.programs.total()
        if unseen > 0:
            self.programs['unseen'] += unseen

    def kept(self):
        return {'processor': round(self.programs.total(), 1),
                'programs': {name: round(seconds, 1) for name, seconds in self.programs.most_common()},
                'costs': {name: round(seconds, 2) for name, seconds in self.tests.most_common()}}


class Watch:
    """Of all lanes that run."""

    def __init__(self):
        self.lanes = {}
        self.looked = 0.0

    def look(self, running):
        """`running` are lanes.Lane; does nothing when it is too early."""
        if time.monotonic() - self.looked < SECONDS_BETWEEN_LOOKS:
            return
        self.looked = time.monotonic()
        found = processes()
        for lane in running:
            self.of(lane).look(below(found, lane.process.pid))

    def of(self, lane):
        return self.lanes.setdefault(lane.name, LaneCosts(lane.file('now')))


def told(kept):
    """The lines at the end of a run, of {lane: LaneCosts.kept()}."""
    total = sum(costs['processor'] for costs in kept.values())
    lines = [f'processor seconds by lane and program, {total:.0f} in all:']
    for lane, costs in sorted(kept.items(), key=lambda item: -item[1]['processor']):
        most = list(costs['programs'].items())[:SHOWN_PROGRAMS]
        lines.append(f'{costs["processor"]:8.0f} s  {lane}: ' + ', '.join(f'{name} {seconds:.0f}' for name, seconds in most))
    tests = sorted(((seconds, f'{lane}: {name}') for lane, costs in kept.items() for name, seconds in costs['costs'].items() if name),
                   reverse=True)
    return [*lines, 'the tests that cost most:', *(f'{seconds:8.1f} s  {name}' for seconds, name in tests[:SHOWN_TESTS])]
