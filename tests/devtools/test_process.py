"""down stops exactly what up started."""
import pathlib
import platform
import signal
import socket
import subprocess
import sys

import pytest

from stack import process
from stack.process import Process, StackError

SLEEP = [sys.executable, '-c', 'import time; print("up", flush=True); time.sleep(60)']


def test_a_started_process_lives_until_it_is_stopped(tmp_path):
    started = process.start(SLEEP, tmp_path / 'log')
    assert started.alive()
    started.stop()
    assert not started.alive()


def test_another_process_with_the_same_id_is_left_alone():
    other = subprocess.Popen(SLEEP, stdout=subprocess.DEVNULL)
    try:
        recycled = Process(other.pid, process.start_ticks(other.pid) - 1)
        assert not recycled.alive()
        recycled.stop(signal.SIGKILL)
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_a_process_that_ignores_the_signal_is_killed(tmp_path):
    stubborn = process.start([sys.executable, '-c', 'import signal, time\n'
                              'signal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint("up", flush=True)\n'
                              'time.sleep(60)'], tmp_path / 'log')
    assert process.wait_until(lambda: (tmp_path / 'log').read_text() == 'up\n', 10)
    stubborn.stop(grace_seconds=0.2)
    assert not stubborn.alive()


def test_a_process_whose_first_thread_has_ended_still_lives(tmp_path):
    log = tmp_path / 'log'
    server = process.start([sys.executable, '-c', 'import ctypes, socket, threading, time\n'
                            'server = socket.create_server(("127.0.0.1", 0))\nport = server.getsockname()[1]\n'
                            'threading.Thread(target=time.sleep, args=(60,)).start()\nprint(port, flush=True)\n'
                            'ctypes.CDLL(None).syscall(%d, 0)' % syscall_exit()], log)
    stat = pathlib.Path(f'/proc/{server.pid}/stat')
    assert process.wait_until(lambda: stat.read_text().rsplit(')')[-1].split()[0] == 'Z', 10)
    with socket.create_connection(('127.0.0.1', int(log.read_text()))):
        assert server.alive()
    server.stop(signal.SIGKILL)
    assert not server.alive()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(('127.0.0.1', int(log.read_text())))


def syscall_exit():
    """The number of the call that ends one thread. unistd.h"""
    return {'x86_64': 60, 'aarch64': 93}[platform.machine()]


def test_a_server_that_ends_tells_the_end_of_its_log(tmp_path):
    log = tmp_path / 'log'
    ended = process.start(['sh', '-c', 'sleep 0.2; echo no such setting; exit 1'], log)
    with pytest.raises(StackError, match='no such setting'):
        process.wait_ready('server', ended, log, lambda: False, 10)
