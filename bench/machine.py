"""What the figures belong to."""
import os
import pathlib
import platform
import subprocess


def commit_of(folder):
    text = subprocess.run(['git', 'describe', '--always', '--dirty'], cwd=folder, text=True,
                          stdout=subprocess.PIPE, check=True).stdout
    return text.strip()


def machine_facts():
    return {'cores': os.cpu_count(), 'processor': field('/proc/cpuinfo', 'model name'),
            'memory': field('/proc/meminfo', 'MemTotal'), 'kernel': platform.release()}


def field(file, name):
    for line in pathlib.Path(file).read_text().splitlines():
        if line.startswith(name):
            return line.split(':', 1)[1].strip()
    return 'unknown'


def resident_mb(pid):
    return int(field(f'/proc/{pid}/status', 'VmRSS').split()[0]) / 1024
