"""Workflows whose steps all sleep at once, against the slowest of their steps as the audit trail has it."""
import asyncio
import json
import time

from loaded_service import LoadedService
from rounds import Target
from scp import Client

STEPS = 100
SECONDS = 1.0
# A step is a program that sleeps, so that its time is its own and not this machine's.
LIMITS = {
    'workflows.steps': STEPS, 'workflows.parallel': STEPS, 'limits.in_flight': 2 * STEPS,
    'security.api_key_scopes': 'flow:run,tool:invoke:tools.sleep', 'tools.sleep.kind': 'command', 'tools.sleep.description': 'Sleeps.',
    'tools.sleep.program': '/usr/bin/sleep', 'tools.sleep.arguments': ['{seconds}'], 'tools.sleep.read_only': True, 'tools.sleep.at_once': 256,
    'tools.sleep.parameters.seconds.type': 'number',
}


async def run_all(server, count):
    service, found = server.service, []
    client = Client(service.url, server.mode, **{name: service.secret(name) for name in ('secret_key', 'kdf_salt', 'api_key')})
    await client.connect()
    steps = [{'name': f's{i}', 'tool': 'tools.sleep', 'args': {'seconds': SECONDS}} for i in range(STEPS)]
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


def measure(bench):
    count = 3 if bench.quick else 7
    with LoadedService(bench.place('flows'), 'simple', bench.authority, changes=LIMITS) as server:
        found = sorted(asyncio.run(run_all(server, count)), key=lambda one: one['times'])
    return {'steps': STEPS, 'runs': count, **found[len(found) // 2], 'worst_times': found[-1]['times']}


def show(found):
    print(f'\na workflow of {found["steps"]} steps at once: {found["seconds"]:.2f} s, {found["times"]:.2f} times its slowest step '
          f'(worst of {found["runs"]}: {found["worst_times"]:.2f})')


def targets(found):
    return [Target(f'a workflow of {found["steps"]} steps at once, times its slowest step', found['times'], 1.5, 'times')]
