"""What the figures belong to."""
import contextlib
import os
import pathlib
import platform
import struct
import subprocess


def commit_of(folder):
    text = subprocess.run(['git', 'describe', '--always', '--dirty'], cwd=folder, text=True,
                          stdout=subprocess.PIPE, check=True).stdout
    return text.strip()


def machine_facts():
    return {'cores': os.cpu_count(), 'processor': field('/proc/cpuinfo', 'model name'),
            'memory': field('/proc/meminfo', 'MemTotal'), 'kernel': platform.release(),
            'preferred': os.sched_getscheduler(0) in (os.SCHED_RR, os.SCHED_FIFO)}  # chrt: before all else


def field(file, name):
    for line in pathlib.Path(file).read_text().splitlines():
        if line.startswith(name):
            return line.split(':', 1)[1].strip()
    return 'unknown'


def resident_mb(pid):
    return int(field(f'/proc/{pid}/status', 'VmRSS').split()[0]) / 1024


def load_average():
    """Of the last minute: what the machine did besides is in it."""
    return os.getloadavg()[0]


@contextlib.contextmanager
def awake_processors():
    """No processor halts meanwhile, where the kernel lets us say so; tells whether it does. To wake a halted one costs a virtual machine some
    25 us at each message that somebody waits for, which would be most of what is measured.
    Source: Linux, Documentation/power/pm_qos_interface.rst."""
    try:
        request = open('/dev/cpu_dma_latency', 'wb', buffering=0)
    except OSError:
        yield False
        return
    with request:
        request.write(struct.pack('i', 0))
        yield True


def processor_seconds(pids):
    """User and system time of processes with all that they started, by name."""
    children = {}
    for folder in pathlib.Path('/proc').glob('[0-9]*'):
        try:
            fields = (folder / 'stat').read_text().rsplit(')', 1)[1].split()
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended meanwhile
        children.setdefault(int(fields[1]), []).append((int(folder.name), sum(map(int, fields[11:15]))))
    own = {pid: ticks for siblings in children.values() for pid, ticks in siblings}
    tick = os.sysconf('SC_CLK_TCK')
    return {name: total(pid, own, children) / tick for name, pid in pids.items()}


def total(pid, own, children):
    return own[pid] + sum(total(child, own, children) for child, _ in children.get(pid, ()))
