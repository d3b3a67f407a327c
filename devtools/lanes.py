"""Runs the lanes of ./dev test side by side, and says how far they are.

usage: lanes.py RESULTS AT_ONCE PRESET LANE...
A lane is `./dev lane NAME PRESET`. The one that took longest in the last run begins
first, those that are not known in the order given before them, as soon as a place
is free. Its words go to RESULTS/NAME.log and are shown if it fails, its
exit code to RESULTS/NAME.code. What each test took, and what processor time went
where (costs.py), is kept in RESULTS/times.json beside the results, and the next run
tells from it how long it will take.

Where few tests failed, they run once more when all lanes have ended, with nothing
beside them (docs/adr/0125). What that run leaves stands in RESULTS/again.
"""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import costs

DEV = pathlib.Path(__file__).resolve().parents[1] / 'dev'
SECONDS_BETWEEN_LINES = 30
# A shell forgets Ctrl-C when the command it waits for takes no notice: it is told again.
SECONDS_TO_END = (20, 40)
# More failures than that are no accident.
MOST_UNSTEADY = 3
# What they find depends on nothing that runs beside them: the first answer counts.
ONCE = ('oracle', 'kit')
PYTEST_FAILED_CODE, CTEST_FAILED_CODE = 1, 8
CTEST_LINE = re.compile(r'^\s*(\d+)/(\d+) Test +#\d+: (\S+) .*?([\d.]+) sec$', re.MULTILINE)
CTEST_FAILED = re.compile(r'^\s*\d+ - (\S+) \((.+)\)$', re.MULTILINE)


class Lane:
    """One lane, from before it begins until it has ended."""

    def __init__(self, name, results, known):
        self.name = name
        self.results = results
        self.known = known  # seconds of each test, and of the whole, when it last ran
        self.began = self.ended = None
        self.process = None
        self.processor = None  # seconds of it and of all that it started, once it has ended

    def begin(self, preset, **environment):
        self.began = time.monotonic()
        with open(self.file('log'), 'wb') as log:
            # A program that a shell starts behind it ignores Ctrl-C, and so would its children.
            self.process = subprocess.Popen([DEV, 'lane', self.name, preset], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            start_new_session=True, env={**os.environ, **environment},
                                            preexec_fn=before_it_begins)

    def file(self, kind):
        return self.results / f'{self.name}.{kind}'

    def has_ended(self):
        if self.ended is None and self.process is not None:
            self.reap(os.WNOHANG)
        return self.ended is not None

    def reap(self, options=0):
        """Waits until it has ended, or only looks."""
        pid, status, usage = os.wait4(self.process.pid, options)
        if pid:
            self.ended = time.monotonic()
            self.process.returncode = os.waitstatus_to_exitcode(status)
            self.processor = usage.ru_utime + usage.ru_stime
            self.file('code').write_text(str(self.process.returncode))

    def end(self):
        """Like Ctrl-C: the tests end, and remove their servers."""
        for seconds in SECONDS_TO_END:
            os.killpg(self.process.pid, signal.SIGINT)
            try:
                self.process.wait(seconds)
                return
            except subprocess.TimeoutExpired:
                continue
        os.killpg(self.process.pid, signal.SIGKILL)

    def failed_tests(self):
        """The names of those that failed, if that is all that went wrong; else none."""
        if self.name == 'unit':
            found = CTEST_FAILED.findall(self.file('log').read_text(errors='replace'))
            crashed = any(how not in ('Failed', 'Timeout') for _, how in found)
            return [] if crashed or self.process.returncode != CTEST_FAILED_CODE else [name for name, _ in found]
        if self.process.returncode != PYTEST_FAILED_CODE or not self.file('failed').exists():
            return []
        return self.file('failed').read_text().splitlines()

    def took(self):
        return (self.ended or time.monotonic()) - self.began if self.began else 0.0

    def tests(self):
        """Seconds of each test that has ended, and how many there are in all, as far as that is known."""
        if self.file('tests').exists():
            first, *rest = self.file('tests').read_text().splitlines() or ['0']
            ended = [line.split(' ', 1) for line in rest]
            return {name: float(seconds) for seconds, name in ended}, int(first)
        found = CTEST_LINE.findall(self.file('log').read_text(errors='replace')) if self.file('log').exists() else []
        return {name: float(seconds) for _, _, name, seconds in found}, int(found[-1][1]) if found else 0

    def left(self):
        """Seconds, by the last run or by what this one took so far; None when nothing is known."""
        if self.ended is not None:
            return 0.0
        ended, total = self.tests()
        if self.known:
            done = sum(seconds for name, seconds in self.known['tests'].items() if name in ended)
            share = done / sum(self.known['tests'].values()) if self.known['tests'] else self.took() / self.known['whole']
            return self.known['whole'] * max(0.0, 1 - share)
        return self.took() / len(ended) * (total - len(ended)) if ended and total else None

    def line(self):
        ended, total = self.tests()
        if self.began is None:
            return f'{self.name} waits'
        if self.ended is not None:
            return f'{self.name} {"done" if self.process.returncode == 0 else "FAILED"}'
        return f'{self.name} {len(ended):,} of {total:,}' if total else f'{self.name} runs'


def before_it_begins():
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    costs.adopt_orphans()


def longest_first(lanes):
    """What begins last is waited for alone: it had better be short."""
    return sorted(lanes, key=lambda lane: -lane.known['whole'] if lane.known else float('-inf'))


def time_left(lanes, at_once):
    """Minutes until all have ended; None when a lane's time is not known."""
    rests = [lane.left() for lane in lanes]
    if None in rests:
        return None
    return max(max(rests), sum(rests) / at_once) / 60


def progress(lanes, at_once):
    left = time_left(lanes, at_once)
    said = '' if left is None else f'; about {left:.0f} min left'
    return '   ' + ', '.join(lane.line() for lane in lanes) + said


def told(lane):
    """What is printed when a lane has ended."""
    seconds = round(lane.took())
    if lane.process.returncode == 0:
        return f'== {lane.name} done in {seconds} s'
    return f'{lane.file("log").read_text(errors="replace")}\n== {lane.name} FAILED after {seconds} s: see above'


def run(lanes, at_once, preset):
    """Returns where their processor time went."""
    waiting, running, said = list(lanes), [], time.monotonic()
    watch = costs.Watch()
    try:
        while waiting or running:
            while waiting and len(running) < at_once:
                running.append(waiting.pop(0))
                running[-1].begin(preset)
            watch.look(running)
            for lane in [one for one in running if one.has_ended()]:
                running.remove(lane)
                watch.of(lane).whole(lane.processor)
                print(told(lane), flush=True)
            if time.monotonic() - said > SECONDS_BETWEEN_LINES:
                said = time.monotonic()
                print(progress(lanes, at_once), flush=True)
            time.sleep(0.2)
    finally:
        for lane in running:
            lane.end()
    return watch


def run_again(lanes, preset):
    """Runs the failed tests of each lane once more, one lane after the other. Returns the names of the lanes that still fail."""
    bad = [lane for lane in lanes if lane.process.returncode != 0]
    failed = {lane.name: lane.failed_tests() for lane in bad}
    if not all(failed.values()) or sum(map(len, failed.values())) > MOST_UNSTEADY or any(name in ONCE for name in failed):
        return list(failed)
    still = []
    for lane in bad:
        folder = lane.results / 'again'
        folder.mkdir(exist_ok=True)
        (folder / f'{lane.name}.failed-before').write_text(''.join(f'{name}\n' for name in failed[lane.name]))
        print(f'== {lane.name} once more, alone: {", ".join(failed[lane.name])}', flush=True)
        second = Lane(lane.name, folder, None)
        second.begin(preset, LANE_AGAIN='1')
        try:
            second.reap()
        except BaseException:
            second.end()
            raise
        print(told(second), flush=True)
        if second.process.returncode != 0:
            still.append(lane.name)
    return still


def keep_times(file, known, lanes, watch):
    times = {lane.name: {'whole': max(lane.took(), 1.0), 'tests': lane.tests()[0], **watch.of(lane).kept()} for lane in lanes}
    file.write_text(json.dumps({**known, **times}, indent=1))
    tests = sorted(((seconds, f'{lane}: {name}') for lane, kept in times.items() for name, seconds in kept['tests'].items()),
                   reverse=True)
    print('the slowest tests:')
    for seconds, name in tests[:15]:
        print(f'{seconds:8.1f} s  {name}')
    print(*costs.told(times), sep='\n')


def main():
    results, at_once, preset, *names = sys.argv[1:]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    results = pathlib.Path(results)
    times = results / 'times.json'
    known = json.loads(times.read_text()) if times.exists() else {}
    for name in names:
        for kind in ('log', 'code', 'tests', 'failed', 'now'):
            (results / f'{name}.{kind}').unlink(missing_ok=True)
    lanes = longest_first([Lane(name, results, known.get(name)) for name in names])
    watch = run(lanes, int(at_once), preset)
    keep_times(times, known, lanes, watch)
    sys.exit(1 if run_again(lanes, preset) else 0)


if __name__ == '__main__':
    main()
