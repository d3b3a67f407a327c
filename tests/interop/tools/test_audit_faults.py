"""The audit trail when processes die, disks fill and names are hostile. docs/wire-3.0.md, section 16."""
import asyncio
import contextlib
import json
import os
import signal
import subprocess
import time

import pytest
import websockets
from raw import now_ms, raw_of, run
from scp import Refused

SLOW = 'SELECT count(*) FROM range(300000) a, range(300000) b'


def trail(service):
    """Every record, and that each line is one."""
    records = []
    for file in sorted(service.audit.glob('audit-*.jsonl')):
        data = file.read_bytes()
        assert data.endswith(b'\n') and b'\r' not in data
        for line in data.decode('utf-8').split('\n')[:-1]:
            assert all(ord(one) >= 32 for one in line)
            records.append(json.loads(line))
    return records


def verify(service, code=0):
    done = service.run('audit', 'verify', check=False)
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout)


async def connected(service, **changes):
    client = raw_of(service, **changes)
    await client.connect()
    return client


@pytest.mark.parametrize('mode', ['simple', 'encrypted'])
def test_every_receipt_outlives_a_kill(make_service, mode):
    service = make_service(mode, limits__calls_per_second=10_000, limits__burst=10_000)
    receipts = []

    async def caller(client):
        with contextlib.suppress(Refused, websockets.ConnectionClosed, ConnectionError):
            while True:
                receipts.append((await client.invoke_tool('files.stat', path='notes/welcome.txt'))['audit'])

    async def work():
        client = await connected(service)
        slow = asyncio.ensure_future(client.invoke_tool('sql.query', sql=SLOW))
        callers = [asyncio.ensure_future(caller(client)) for _ in range(8)]
        while len(receipts) < 200:
            await asyncio.sleep(0.005)
        os.kill(service.process.pid, signal.SIGKILL)
        await asyncio.gather(slow, *callers, return_exceptions=True)
        await client.close()

    run(work())
    service.stop()
    service.start()
    report = verify(service)
    hashes = {record['seq']: record['hash'] for record in trail(service)}
    assert len(receipts) >= 200
    assert all(hashes[receipt['seq']] == receipt['hash'] for receipt in receipts)
    assert report['broken'] is None if 'broken' in report else True
    assert 'sql.query' in json.dumps(report['interrupted'])
    assert report['starts'] == 2


def test_a_torn_line_is_cut_off_and_told(make_service):
    service = make_service('simple')
    os.kill(service.process.pid, signal.SIGKILL)
    service.stop()
    file = sorted(service.audit.glob('audit-*.jsonl'))[-1]
    with open(file, 'ab') as out:
        out.write(b'{"boot":"half a l')
    service.start()
    verify(service)
    assert [record for record in trail(service) if record['kind'] == 'start'][-1]['torn'] == 17


@pytest.mark.parametrize('name, damage', [
    ('a changed line', lambda data: data.replace(b'files.stat', b'files.read', 1)), ('a line left out', lambda data: b'\n'.join(data.split(b'\n')[:1] + data.split(b'\n')[2:])),
    ('two lines in another order', lambda data: b'\n'.join([data.split(b'\n')[1], data.split(b'\n')[0], *data.split(b'\n')[2:]])),
], ids=lambda value: value if isinstance(value, str) else '')
def test_a_trail_that_was_changed_is_evidence(make_service, name, damage):
    service = make_service('simple')

    async def work():
        client = await connected(service)
        for _ in range(3):
            await client.invoke_tool('files.stat', path='notes/welcome.txt')
        await client.close()

    run(work())
    service.stop()
    file = sorted(service.audit.glob('audit-*.jsonl'))[-1]
    file.write_bytes(damage(file.read_bytes()))
    assert 'broken' in verify(service, 1)
    started = service.run('serve', check=False)
    assert started.returncode == 1 and started.stderr.count('\n') == 1, started.stderr


def test_receipts_find_an_end_that_was_cut_off(make_service):
    """The lines after the last checkpoint are told as an unsigned tail."""
    service = make_service('simple', audit__checkpoint_records=1000, audit__checkpoint_interval='3600')

    async def work():
        client = await connected(service)
        for _ in range(5):
            await client.invoke_tool('files.stat', path='notes/welcome.txt')
        await client.close()

    run(work())
    assert verify(service)['unsigned_tail'] > 0


@pytest.fixture
def small_disk(tmp_path):
    """A folder on a file system of 256 KiB."""
    folder = tmp_path / 'disk'
    folder.mkdir()
    subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=256k,mode=0700', 'tmpfs', folder], check=True)
    yield folder
    subprocess.run(['umount', '-l', folder], check=True)


def test_a_full_disk_blocks_calls_and_room_frees_them(make_service, small_disk):
    service = make_service('simple', audit__path=str(small_disk / 'audit'), limits__calls_per_second=10_000, limits__burst=10_000)
    service.audit = small_disk / 'audit'
    filler = small_disk / 'filler'

    async def code_of(client, tool='files.stat', **arguments):
        try:
            await client.invoke_tool(tool, **(arguments or {'path': 'notes/welcome.txt'}))
        except Refused as refused:
            return refused.code
        return None

    async def work():
        client = await connected(service)
        assert await code_of(client) is None
        with contextlib.suppress(OSError), open(filler, 'wb', buffering=0) as out:
            while True:
                out.write(b'x' * 4096)
        codes = []
        for number in range(200):  # what is left of the last page is used up first
            codes.append(await code_of(client))
            if codes[-1] is not None:
                break
        blocked = [await code_of(client, 'files.write', path='notes/unseen.txt', content='x', mode='create') for _ in range(3)]
        ping = await client.call('session.ping', {})
        filler.unlink()
        for _ in range(200):
            after = await code_of(client)
            if after is None:
                break
            await asyncio.sleep(0.05)
        await client.close()
        return codes[-1], blocked, ping, after

    first, blocked, ping, after = run(work())
    assert first in ('E_BUSY', 'E_INTERNAL')  # E_INTERNAL when it ran and its end found no room
    assert blocked == ['E_BUSY'] * 3 and ping == {} and after is None
    assert not (service.folder / 'files/notes/unseen.txt').exists(), 'what is not recorded is not done'
    service.stop()
    assert verify(service)['lost'] > 0
    assert any(record['kind'] == 'gap' for record in trail(service))


HOSTILE = ['a\nb', 'a\r\nb', '"}\n{"seq":1', '\x1b[31mred\x1b[0m', '\x00', '\u2028\u2029', '\x7f\x9b', '\ud7ff\ue000', '%s%n', '${jndi:ldap://x}',
           "'; DROP TABLE x; --", 'ж' * 600]


def forged(service, subject):
    from test_tokens import hs256
    return hs256(service, sub=subject, scope='cap:list tool:invoke:sql.* tool:invoke:files.*')


def test_hostile_names_stay_in_one_line(make_service):
    service = make_service('basic', log__level='debug', limits__calls_per_second=10_000, limits__burst=10_000)
    subjects = []

    async def work():
        for text in HOSTILE:
            with contextlib.suppress(Refused):
                client = await connected(service, token=forged(service, 'eve' + text))
                subjects.append('eve' + text)
                for tool, args in [(text, {}), ('files.' + text, {}), ('files.stat', {'path': text}), ('files.stat', {text: text}),
                                   ('sql.query', {'sql': "SELECT '" + text})]:
                    with contextlib.suppress(Refused):
                        await client.call('tool.invoke', {'tool': tool, 'args': args}, meta={'traceparent': '00-' + 'a' * 32 + '-' + 'b' * 16 + '-01'})
                await client.close()

    run(work())
    records = trail(service)
    assert subjects and {record['principal']['sub'] for record in records if 'principal' in record} >= {one for one in subjects if len(one.encode()) < 1024}
    for line in service.log.read_bytes().decode('utf-8').split('\n')[:-1]:
        json.loads(line)
        assert all(ord(one) >= 32 and ord(one) not in (0x7f, 0x9b) for one in line), line
    assert verify(service)['lines'] == len(records)


def test_no_secret_is_written_down(make_service):
    """Neither secrets, tokens, credentials nor arguments are in the log or the trail, at the log's most talkative."""
    for mode in ('simple', 'basic', 'encrypted', 'enterprise'):
        service = make_service(mode, log__level='debug')
        secrets = [service.secret(name) for name in ('api_key', 'secret_key', 'jwt_secret', 'kdf_salt') if service.secret(name)]
        canary = f'canary{now_ms()}'

        async def work(service=service, secrets=secrets, canary=canary):
            client = raw_of(service)
            secrets += [client.token] if client.token else []
            await client.connect()
            secrets.append(client.session['session_token'])
            with contextlib.suppress(Refused):
                await client.invoke_tool('sql.query', sql=f"SELECT '{canary}'")
            with contextlib.suppress(Refused):
                await client.invoke_tool('files.write', path='notes/c.txt', content=canary, mode='create')
            with contextlib.suppress(Refused):
                await client.invoke_tool('files.stat', path=canary, more=canary)
            await client.close()
            wrong = raw_of(service, **({'token': canary + '.' + canary + '.x'}))
            with contextlib.suppress(Refused):
                await wrong.connect()

        run(work())
        time.sleep(0.05)
        written = service.log.read_text() + ''.join(file.read_text() for file in service.audit.iterdir())
        assert '"session ready"' in written and '"seal"' in written
        for secret in [*secrets, canary]:
            for part in {secret, *[piece for piece in secret.split('.') if len(piece) > 20]}:
                assert part not in written, f'{mode}: {part[:8]}…'


def test_files_of_the_trail_are_closed_to_others(make_service):
    service = make_service('simple')
    assert service.audit.stat().st_mode & 0o777 == 0o700
    assert all(file.stat().st_mode & 0o777 == 0o600 for file in service.audit.iterdir())


def test_two_processes_do_not_share_a_trail(make_service):
    service = make_service('simple')
    second = service.run('serve', '--set', 'SCP_SERVER_PORT=0', check=False)
    assert second.returncode == 1 and second.stderr.count('\n') == 1
