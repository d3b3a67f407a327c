"""Load with wrk, and what it tells."""
import dataclasses
import re
import subprocess

UNITS = {'us': 0.001, 'ms': 1.0, 's': 1000.0}


@dataclasses.dataclass(frozen=True)
class Load:
    per_second: float
    p50_ms: float
    p99_ms: float


def get(url, connections, seconds):
    """Repeats GET over keep-alive connections. Any answer but 2xx makes the figures worthless."""
    done = subprocess.run(['wrk', '-t', str(min(2, connections)), '-c', str(connections),
                           '-d', f'{seconds}s', '--timeout', '10s', '--latency', url],
                          text=True, check=True, stdout=subprocess.PIPE).stdout
    faults = re.search(r'Non-2xx or 3xx responses: \d+|Socket errors: .*', done)
    if faults:
        raise RuntimeError(f'{url}: {faults[0]}')
    return Load(float(re.search(r'Requests/sec:\s+([\d.]+)', done)[1]), latency(done, 50), latency(done, 99))


def latency(text, percent):
    number, unit = re.search(rf'\s{percent}%\s+([\d.]+)(us|ms|s)\b', text).groups()
    return float(number) * UNITS[unit]
