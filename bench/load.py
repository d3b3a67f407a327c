"""Load with wrk, and what it tells."""
import dataclasses
import pathlib
import re
import subprocess

PACED = pathlib.Path(__file__).resolve().parent / 'paced.lua'
UNITS = {'us': 0.001, 'ms': 1.0, 's': 1000.0}


@dataclasses.dataclass(frozen=True)
class Load:
    per_second: float
    p50_ms: float
    p99_ms: float


def get(url, connections, seconds, think_ms=0, headers=()):
    """Repeats GET over keep-alive connections. Any answer but 2xx makes the figures worthless.

    Without thinking the load takes every processor it can get. With `think_ms` each
    connection waits so long before it asks again, and the latency is that of the
    request alone: what is found there is not the queue that the load itself makes.
    """
    threads = min(2, connections) if think_ms == 0 else 1
    pace = ['-s', str(PACED)] if think_ms else []
    done = subprocess.run(['wrk', '-t', str(threads), '-c', str(connections), '-d', f'{seconds}s',
                           '--timeout', '10s', '--latency', *(part for header in headers for part in ('-H', header)), *pace, url, *([str(think_ms)] if think_ms else [])],
                          text=True, check=True, stdout=subprocess.PIPE).stdout
    faults = re.search(r'Non-2xx or 3xx responses: \d+|Socket errors: .*', done)
    if faults:
        raise RuntimeError(f'{url}: {faults[0]}')
    return Load(float(re.search(r'Requests/sec:\s+([\d.]+)', done)[1]), latency(done, 50), latency(done, 99))


def latency(text, percent):
    number, unit = re.search(rf'\s{percent}%\s+([\d.]+)(us|ms|s)\b', text).groups()
    return float(number) * UNITS[unit]
