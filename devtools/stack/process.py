"""Starts servers, and stops exactly the ones it started.

A process id alone does not name a process: the kernel gives it to another one
later. Together with the start time it does, so both are written down.
"""
import dataclasses
import os
import pathlib
import signal
import subprocess
import time


class StackError(Exception):
    """A server that did not come up or down; the message says which and where its log is."""


@dataclasses.dataclass(frozen=True)
class Process:
    pid: int
    start_ticks: int

    def alive(self):
        return start_ticks(self.pid) == self.start_ticks

    def stop(self, first_signal=signal.SIGTERM, grace_seconds=20.0):
        """Returns when the process is gone; kills it when the grace is over."""
        if not self.alive():
            return
        os.kill(self.pid, first_signal)
        if not wait_until(lambda: not self.alive(), grace_seconds):
            os.kill(self.pid, signal.SIGKILL)
            wait_until(lambda: not self.alive(), 5.0)


def start_ticks(pid):
    """Clock ticks between boot and the start of `pid`; None when it is gone or a zombie.

    A killed process is a zombie from the end of its first thread on. While others of its
    threads are still ending its sockets still listen, so until then it is not gone.
    """
    try:
        stat = pathlib.Path(f'/proc/{pid}/stat').read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = stat[stat.rindex(')') + 2:].split()  # the command's name may hold spaces
    if fields[0] == 'Z' and int(fields[17]) <= 1:
        reap(pid)
        return None
    return int(fields[19])


def reap(pid):
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        pass  # not our child: its own parent reaps it


def identify(pid):
    ticks = start_ticks(pid)
    if ticks is None:
        raise StackError(f'process {pid} ended at once')
    return Process(pid, ticks)


def start(command, log, env=None, cwd=None):
    """Starts `command` in a session of its own, so that the terminal's Ctrl-C misses it."""
    with open(log, 'ab') as out:
        child = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL,
                                 stdout=out, stderr=out, env=env, cwd=cwd, start_new_session=True)
    try:
        return identify(child.pid)
    except StackError:
        raise StackError(f'{command[0]} ended at once; the end of {log}:\n{tail(log)}') from None


def run(command, log, env=None, cwd=None):
    """To its end, which must be a good one."""
    with open(log, 'ab') as out:
        done = subprocess.run([str(word) for word in command], stdout=out, stderr=out, env=env, cwd=cwd, check=False)
    if done.returncode:
        raise StackError(f'{command[0]} failed; the end of {log}:\n{tail(log)}')


def wait_ready(name, process, log, ready, seconds):
    if wait_until(lambda: ready() or not process.alive(), seconds) and process.alive():
        return
    state = 'is not ready' if process.alive() else 'ended'
    raise StackError(f'{name} {state}; the end of {log}:\n{tail(log)}')


def wait_until(condition, seconds):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def tail(path, lines=15):
    try:
        return '\n'.join(pathlib.Path(path).read_text(errors='replace').splitlines()[-lines:])
    except FileNotFoundError:
        return '(no log)'
