"""Two clients that share no code make the same calls: the service must answer and record them alike. `args_mac` is a digest of
the canonical arguments as the service read them, so equal ones mean that both clients sent the same values."""
import asyncio
import json
import os
import random

import pytest
from scp import Refused
from test_modes import run
from tool_clients import client_of
from typescript_client import TypescriptClient

SEED = int(os.environ.get('CLIENTS_AGREE_SEED', 20261126))
WORDS = ['', 'a', 'grüße', '日本', '\u2028', '\x7f', '"\\/', '😀', '\u0000\u001f', '__proto__', 'constructor', '\ufb33']
# Each principal has 20 lines at once for calls that are refused before they are authorised (section 16.5).
MOST_REFUSED_EARLY = 16


def any_number(chance):
    return chance.choice([
        chance.randint(-9, 9), chance.randint(-2**53 + 1, 2**53 - 1), chance.uniform(-1, 1), chance.random() * 10.0 ** chance.randint(-300, 300),
        float(2 ** chance.randint(53, 80)), 0.0, 1e21, 5e-324, 1.7976931348623157e308])


def any_value(chance, depth=0):
    kind = chance.choice(['number', 'text', 'literal'] + (['list', 'object'] if depth < 3 else []))
    if kind == 'number':
        return any_number(chance)
    if kind == 'text':
        return ''.join(chance.choices(WORDS, k=3))
    if kind == 'literal':
        return chance.choice([None, True, False])
    if kind == 'list':
        return [any_value(chance, depth + 1) for _ in range(chance.randint(0, 4))]
    return {f'{chance.choice(WORDS)}{n}': any_value(chance, depth + 1) for n in range(chance.randint(0, 4))}


def late_call(chance):
    """One that is authorised, whatever comes of it then."""
    return chance.choice([
        lambda: ('sql.query', {'sql': 'SELECT $1::DOUBLE AS d, $2::VARCHAR AS t', 'params': [float(any_number(chance)), ''.join(chance.choices(WORDS[:8], k=4))]}),
        lambda: ('sql.query', {'sql': f'SELECT {chance.randint(-99, 99)}::INTEGER AS n, {chance.random()} AS x'}),
        lambda: ('sql.query', {'sql': chance.choice(['SELECT 1; SELECT 2', "ATTACH 'x.db'", 'SELECT', "SELECT * FROM read_csv('orders.csv')"])}),
        lambda: ('sql.query', {'sql': 'SELECT * FROM nowhere'}),
        lambda: ('files.read', {'path': chance.choice(['notes/welcome.txt', '../x.txt', '/etc/passwd', 'notes/none.txt', 'notes/x.key'])}),
        lambda: ('files.stat', {'path': chance.choice(['notes', 'notes/welcome.txt', 'none'])}),
        lambda: ('files.list', {'path': chance.choice(['notes', 'none', '.'])}),
        lambda: ('files.write', {'path': 'notes/agree.txt', 'content': ''.join(chance.choices(WORDS[1:8], k=5)), 'mode': 'replace'}),
        lambda: ('sql.list_tables', {}),
    ])()


def early_call(chance):
    """One that is refused for its shape, or since there is no such tool."""
    return chance.choice([
        lambda: ('sql.query', {'sql': any_number(chance)}),
        lambda: ('sql.query', {'statement': any_value(chance)}),
        lambda: ('files.read', {'path': any_value(chance, 2), 'more': any_value(chance)}),
        lambda: (chance.choice(['files.unknown', 'none.none', 'Bad.Tool', 'sql', '']), {'x': any_value(chance)}),
    ])()


def calls(seed):
    chance = random.Random(seed)
    made = [('files.unknown', {})] + [early_call(chance) for _ in range(MOST_REFUSED_EARLY)] + [late_call(chance) for _ in range(48)]
    chance.shuffle(made)
    # A refusal names the first member that breaks a rule, and only one of the clients keeps their order.
    return [(tool, dict(sorted(arguments.items()))) for tool, arguments in made]


async def answer_of(client, tool, arguments):
    """What the caller was told, without what differs between two calls."""
    try:
        if isinstance(client, TypescriptClient):
            answer = await client.invoke(tool, arguments, {})
        else:
            answer = await client.call('tool.invoke', {'tool': tool, 'args': arguments})
    except Refused as refused:
        return {'code': refused.code, 'message': refused.message, 'data': refused.data}
    assert set(answer['usage']) == {'ms', 'bytes'} and set(answer['audit']) == {'seq', 'hash', 'node', 'sig'}
    return {name: answer[name] for name in answer if name not in ('usage', 'audit')} | {'bytes': answer['usage']['bytes']}


def decisions(service, subject):
    """What the trail says of the calls of `subject`, in order."""
    lines = [json.loads(line) for file in sorted(service.audit.glob('audit-*.jsonl')) for line in file.read_text().splitlines()]
    seals = [line for line in lines if line['kind'] == 'seal' and line['principal']['sub'] == subject]
    return [{name: seal.get(name) for name in ('tool', 'origin', 'args_mac', 'decision', 'result', 'consent')} for seal in seals]


@pytest.mark.parametrize('mode', ['basic', 'encrypted'])
def test_random_calls_are_answered_and_recorded_alike(make_service, mode):
    service = make_service(mode, limits__calls_per_second=1000, limits__burst=1000)
    (service.folder / 'files/notes/agree.txt').touch()  # So that each write replaces it.
    clients = {'python': client_of(service, token=service.mint('python')),
               'typescript': client_of(service, kind=TypescriptClient, token=service.mint('typescript'))}
    made = calls(SEED)

    async def work():
        for client in clients.values():
            await client.connect()
        try:
            listed = [await client.list_capabilities() for client in clients.values()]
            assert listed[0] == listed[1]
            for number, (tool, arguments) in enumerate(made):
                told = [await answer_of(client, tool, arguments) for client in clients.values()]
                assert told[0] == told[1], (SEED, number, tool, arguments)
                codes.append(told[0].get('code', 'ok'))
        finally:
            await asyncio.gather(*(client.disconnect() for client in clients.values()))

    codes = []
    run(work())
    assert {'ok', 'E_SHAPE', 'E_TOOL', 'E_POLICY'} <= set(codes)
    by_python, by_typescript = (decisions(service, name) for name in clients)
    assert len(by_python) == len(made)
    for number, (one, other) in enumerate(zip(by_python, by_typescript, strict=True)):
        assert one == other, (SEED, number, made[number])


def test_another_argument_is_another_digest(make_service):
    """The comparison above can fail."""
    service = make_service('basic')

    async def work():
        for name, value in (('one', 0.1), ('other', 0.2)):
            client = client_of(service, kind=TypescriptClient, token=service.mint(name))
            await client.connect()
            await client.invoke_tool('sql.query', sql='SELECT $1::DOUBLE AS d', params=[value])
            await client.disconnect()

    run(work())
    one, other = (decisions(service, name)[0] for name in ('one', 'other'))
    assert one['args_mac'] != other['args_mac'] and {**one, 'args_mac': 0} == {**other, 'args_mac': 0}
