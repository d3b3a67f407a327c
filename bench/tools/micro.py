"""Programs of Google Benchmark, as one variant of rounds."""
import json
import subprocess

from loaded_service import BUILD


def run(module, seconds=0.2):
    """Microseconds of the clock for each benchmark of `module`, and its bytes or items a second where it tells them."""
    done = subprocess.run([BUILD / f'{module}_bench', '--benchmark_format=json', f'--benchmark_min_time={seconds}'],
                          capture_output=True, text=True, check=True)
    found = {}
    for one in json.loads(done.stdout)['benchmarks']:
        if one.get('error_occurred'):
            raise RuntimeError(f'{module}: {one["name"]}: {one["error_message"]}')
        name = one['name'].removesuffix('/real_time')
        unit = {'ns': 1e-3, 'us': 1, 'ms': 1e3}[one['time_unit']]
        found |= {f'{name}_us': one['real_time'] * unit, f'{name}_cpu_us': one['cpu_time'] * unit}
        for rate in ('bytes_per_second', 'items_per_second'):
            if rate in one:
                found[f'{name}_{rate}'] = one[rate]
    return found
