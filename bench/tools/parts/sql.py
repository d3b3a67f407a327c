"""About 100 MB of rows as JSON, call after call."""
import json

from loaded_service import LoadedService

ROW_BYTES = 1000
# An answer has the rows twice, as text and as a structure: together under the bound of 4 MiB.
ROWS = 1_900
CALLS = 27


def measure(bench):
    with LoadedService(bench.place('sql'), 'encrypted', bench.authority) as server:
        server.load('calls', '--tool', 'sql.query', '--args', json.dumps({'sql': 'SELECT 1'}), '--count', 100)
        server.forget_peak()
        before = server.resident_kib()
        sql = f"SELECT repeat('y', {ROW_BYTES}) AS text FROM range({ROWS})"
        found = server.load('calls', '--tool', 'sql.query', '--args', json.dumps({'sql': sql}), '--count', CALLS)
        megabytes = found['answer_bytes'] * CALLS / 1e6
        return {'calls': CALLS, 'answer_bytes': found['answer_bytes'], 'megabytes': megabytes,
                'megabytes_per_second': megabytes / found['seconds'], 'before_mib': before / 1024, 'peak_mib': server.peak_kib() / 1024}


def show(found):
    print(f'\n{found["megabytes"]:.0f} MB of rows in {found["calls"]} calls: {found["megabytes_per_second"]:.0f} MB/s, '
          f'server {found["before_mib"]:.0f} MiB before and {found["peak_mib"]:.0f} MiB at its peak')


def targets(_):
    return []
