"""The figures of the tool service, each from one load."""
import asyncio
import json
import pathlib
import subprocess
import time

import loaded_service
from scp import Client

TEXT = 'x' * 256
ECHO = ['--tool', 'echo.say', '--args', json.dumps({'text': TEXT})]
IN_FLIGHT = 64
ROW_BYTES = 1000
# An answer has the rows twice, as text and as a structure: together under the bound of 4 MiB.
SQL_ROWS = 1_900
SQL_CALLS = 27


def raw(count):
    return {'one': loaded_service.raw_echo(1, count), 'many': loaded_service.raw_echo(IN_FLIGHT, count * 4)}


def calls(server, count):
    """One call at a time, then 64 in flight: over one connection, and over four."""
    found = {}
    for name, in_flight, connections in (('one', 1, 1), ('many', IN_FLIGHT, 1), ('many_4', IN_FLIGHT, 4)):
        before = server.cpu_seconds()
        amount = count if in_flight == 1 else count * 4
        found[name] = server.load('calls', *ECHO, '--count', amount, '--in-flight', in_flight, '--connections', connections)
        # The load's own tenth more, to warm up, costs the server as much.
        found[name]['server_us_per_call'] = (server.cpu_seconds() - before) / (amount * 1.1) * 1e6
        found[name]['load_us_per_call'] = found[name]['cpu_seconds'] / amount * 1e6
    return found


def handshakes(server, count):
    server.load('handshakes', '--count', max(10, count // 10))
    before = server.cpu_seconds()
    found = server.load('handshakes', '--count', count)
    return {'count': count, 'server_ms': (server.cpu_seconds() - before) / count * 1e3,
            'client_ms': found['cpu_seconds'] / count * 1e3, 'p50_us': found['p50_us'], 'p99_us': found['p99_us']}


def idle(server, count):
    """Resident memory that `count` idle sessions add to a server that has served some before."""
    server.load('idle', '--count', 100)
    time.sleep(1)
    before = server.resident_kib()
    with server.start_load('idle', '--count', count) as load:
        opened = json.loads(load.stdout.readline())
        time.sleep(2)
        held = server.resident_kib()
        load.stdin.close()
        if load.wait() != 0:
            raise RuntimeError('idle sessions ended')
    return {'count': count, 'kib_each': (held - before) / count, 'opened_per_second': opened['per_second']}


def walls(server, count):
    """One call at a time of tools that do next to nothing: in the service, in the engine's process, and by the engine in it."""
    found = {}
    for name, load in (('echo', ECHO), ('child', ['--tool', 'sql.list_tables', '--args', '{}']),
                       ('engine', ['--tool', 'sql.query', '--args', json.dumps({'sql': 'SELECT 1'})])):
        found[name] = server.load('calls', *load, '--count', count)
    return found


def large_results(server):
    """About 100 MB of rows as JSON, call after call."""
    server.forget_peak()
    before = server.resident_kib()
    sql = f"SELECT repeat('y', {ROW_BYTES}) AS text FROM range({SQL_ROWS})"
    found = server.load('calls', '--tool', 'sql.query', '--args', json.dumps({'sql': sql}), '--count', SQL_CALLS)
    megabytes = found['answer_bytes'] * SQL_CALLS / 1e6
    return {'calls': SQL_CALLS, 'answer_bytes': found['answer_bytes'], 'megabytes': megabytes,
            'megabytes_per_second': megabytes / found['seconds'], 'before_mib': before / 1024,
            'peak_mib': server.peak_kib() / 1024}


FLOW_STEPS = 100
FLOW_SECONDS = 1.0
# A step is a program that sleeps, so that its time is its own and not this machine's.
FLOW_LIMITS = {
    'workflows.steps': FLOW_STEPS, 'workflows.parallel': FLOW_STEPS, 'limits.in_flight': 2 * FLOW_STEPS,
    'security.api_key_scopes': 'flow:run,tool:invoke:tools.sleep', 'tools.sleep.kind': 'command', 'tools.sleep.description': 'Sleeps.',
    'tools.sleep.program': '/usr/bin/sleep', 'tools.sleep.arguments': ['{seconds}'], 'tools.sleep.read_only': True, 'tools.sleep.at_once': 256,
    'tools.sleep.parameters.seconds.type': 'number',
}


def flows(server, count):
    """Workflows whose steps all sleep at once, against the slowest of their steps as the audit trail has it."""
    async def work():
        service, found = server.service, []
        client = Client(service.url, server.mode, **{name: service.secret(name) for name in ('secret_key', 'kdf_salt', 'api_key')})
        await client.connect()
        steps = [{'name': f's{i}', 'tool': 'tools.sleep', 'args': {'seconds': FLOW_SECONDS}} for i in range(FLOW_STEPS)]
        for _ in range(count):
            start = time.monotonic()
            answer = await client.flow_run({'workflow': 1, 'steps': steps})
            took = time.monotonic() - start
            if answer['state'] != 'done':
                raise RuntimeError(f'the workflow {answer["state"]}')
            rids = {step['rid'] for step in answer['steps']}
            lines = [json.loads(line) for file in service.audit.glob('*.jsonl') for line in file.read_text().splitlines()]
            slowest = max(line['timing']['tool_us'] for line in lines if line['kind'] == 'seal' and line.get('rid') in rids) / 1e6
            found.append({'seconds': took, 'slowest_step': slowest, 'times': took / slowest})
        await client.disconnect()
        return found

    found = sorted(asyncio.run(work()), key=lambda one: one['times'])
    return {'steps': FLOW_STEPS, 'runs': count, **found[len(found) // 2], 'worst_times': found[-1]['times']}


def guard():
    """The rules over a text, and a decision from memory, in a process of their own: no service runs."""
    program = pathlib.Path(__file__).resolve().parents[2] / 'build/release/toolserver_guard_bench'
    done = subprocess.run([program, '--benchmark_format=json'], capture_output=True, text=True, check=True)
    found = {}
    for one in json.loads(done.stdout)['benchmarks']:
        found[one['name']] = {'us': one['cpu_time'] / {'ns': 1e3, 'us': 1, 'ms': 1e-3}[one['time_unit']]}
        if 'bytes_per_second' in one:
            found[one['name']]['megabytes_per_second'] = one['bytes_per_second'] / 1e6
    return found
