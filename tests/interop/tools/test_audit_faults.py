"""The audit trail when processes die, disks fill and names are hostile. docs/wire-3.0.md, section 16."""
import asyncio
import contextlib
import hashlib
import http.server
import json
import os
import signal
import subprocess
import threading
import time

import pytest
import websockets
from raw import now_ms, raw_of, run
from scp import Refused, check_receipt
from scp.canonical import canonical
from stack.process import wait_until

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


def verify(service, code=0, *more):
    done = service.run('audit', 'verify', '--json', *more, check=False)
    assert done.returncode == code, done.stderr + done.stdout
    return json.loads(done.stdout)


def kill(service):
    os.kill(service.process.pid, signal.SIGKILL)
    service.stop()


def rewrite(service, records):
    """Writes the trail anew, with numbers and hashes as they should be: what anybody can who may write the folder."""
    files = sorted(service.audit.glob('audit-*.jsonl'))
    assert len(files) == 1
    prev, lines = '0' * 64, []
    for number, record in enumerate(records, 1):
        bare = {**record, 'seq': number, 'prev': prev}
        del bare['hash']
        prev = hashlib.sha256(bytes.fromhex(prev) + canonical(bare)).hexdigest()
        lines.append(canonical({**bare, 'hash': prev}) + b'\n')
    files[0].write_bytes(b''.join(lines))


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
    report = verify(service, 3)
    hashes = {record['seq']: record['hash'] for record in trail(service)}
    assert len(receipts) >= 200
    assert all(hashes[receipt['seq']] == receipt['hash'] for receipt in receipts)
    assert 'broken' not in report
    assert [one['to'] for one in report['unsigned']] == [next(record['seq'] for record in trail(service) if record['kind'] == 'start' and record['seq'] > 1) - 1]
    accepted = report['unsigned'][0]
    assert verify(service, 0, '--accept-unsigned', f'{accepted["from"]}-{accepted["to"]}')['intact']
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
    verify(service, 3)  # the line before it was not signed either
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


async def calls(service, count, **changes):
    """The receipts of some calls."""
    client = await connected(service, **changes)
    receipts = [(await client.invoke_tool('files.stat', path='notes/welcome.txt'))['audit'] for _ in range(count)]
    await client.disconnect()
    return receipts


def test_receipts_find_an_end_that_was_cut_off(make_service):
    service = make_service('simple', audit__checkpoint_interval='0.1')
    first = run(calls(service, 1))[0]
    service.stop()
    end = sorted(service.audit.glob('audit-*.jsonl'))[-1]
    whole = end.read_bytes()
    service.start()
    last = run(calls(service, 3))[-1]
    service.stop()
    given = ['--receipt', json.dumps(last), '--receipt', f'{first["seq"]}:{first["hash"]}']
    assert verify(service, 0, *given)['missing'] == []
    end.write_bytes(whole)  # all that came after: nothing in the trail tells it
    assert verify(service)['intact']
    assert verify(service, 1, *given)['missing'] == [{'seq': last['seq'], 'hash': last['hash']}]


def test_a_receipt_proves_itself_to_others(make_service, tmp_path):
    service = make_service('basic')
    receipt = run(calls(service, 1))[0]
    assert check_receipt(receipt, secret=service.secret('secret_key'))
    assert not check_receipt({**receipt, 'seq': receipt['seq'] + 1}, secret=service.secret('secret_key'))
    service.stop()
    service.run_bare('keygen', 'ed25519', '--out', tmp_path / 'audit')
    service.settings['audit.checkpoint_key_path'] = str(tmp_path / 'audit.key')
    service.start()
    receipt = run(calls(service, 1))[0]
    assert check_receipt(receipt, public_key=(tmp_path / 'audit.pub').read_bytes())
    said = service.run_bare('audit', 'receipt', json.dumps(receipt), '--key', tmp_path / 'audit.pub')
    assert f'node-b recorded line {receipt["seq"]} with the hash {receipt["hash"]}' in said.stdout
    forged = service.run_bare('audit', 'receipt', json.dumps({**receipt, 'hash': 'a' * 64}), '--key', tmp_path / 'audit.pub', check=False)
    assert forged.returncode == 1 and 'by none of the keys' in forged.stderr


def test_a_forged_end_is_not_signed_by_a_restart(make_service):
    service = make_service('basic', audit__checkpoint_interval='0.2', limits__calls_per_second=10_000, limits__burst=10_000)
    run(calls(service, 50, token=service.mint('mallory')))
    while not any(record['kind'] == 'checkpoint' for record in trail(service)):
        time.sleep(0.05)
    kill(service)
    forged = [record for record in trail(service) if record['kind'] != 'checkpoint']
    for record in forged:
        for principal in (record.get('principal', {}), record.get('details', {}).get('principal', {})):
            principal.update(sub='alice') if principal else None
    rewrite(service, forged)
    assert 'mallory' not in json.dumps(trail(service))
    service.start()
    run(calls(service, 1))
    service.stop()
    report = verify(service, 3)
    assert not report['intact'] and report['verdict'] == 'unsigned'
    assert report['unsigned'][0] == {'from': 1, 'to': len(forged), 'lines': len(forged), 'start': len(forged) + 1, 'accepted': False}
    assert f'{len(forged)} lines' in service.log.read_text(), 'the operator is told at the start'
    said = service.run('audit', 'verify', check=False).stdout
    assert said.startswith('NOT PROVEN') and f'lines 1 to {len(forged)}' in said
    service.start()
    service.stop()
    verify(service, 3)


class Watcher:
    """A witness: keeps what is posted, a line each."""

    def __init__(self):
        self.kept = []
        self.status = 200
        watcher = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers['Content-Length']))
                if watcher.status == 200:
                    watcher.kept.append(json.loads(body))
                self.send_response(watcher.status)
                self.send_header('Content-Length', '2')
                self.end_headers()
                self.wfile.write(b'{}')

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        self.url = f'http://127.0.0.1:{self.server.server_port}/checkpoints'
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


def test_a_witness_finds_what_was_cut_off(make_service, tmp_path):
    watcher = Watcher()
    service = make_service('simple', audit__witness_url=watcher.url)
    run(calls(service, 3))
    service.stop()
    end = sorted(service.audit.glob('audit-*.jsonl'))[-1]
    whole = end.read_bytes()
    assert watcher.kept[-1]['covers']['seq'] == len(trail(service)) - 1
    watcher.status = 500  # what it does not take is sent again
    service.start()
    run(calls(service, 3))
    watcher.status = 200
    service.stop()
    watcher.server.shutdown()
    kept = tmp_path / 'kept.jsonl'
    kept.write_text(''.join(json.dumps(one) + '\n' for one in watcher.kept))
    assert verify(service, 0, '--witness', kept)['missing_witnessed'] == []
    end.write_bytes(whole)
    assert verify(service)['intact']
    assert [one['seq'] for one in verify(service, 1, '--witness', kept)['missing_witnessed']] == [watcher.kept[-1]['covers']['seq']]
    end.unlink()
    assert service.run('audit', 'verify', '--witness', kept, check=False).returncode == 1
    service.start()  # a new trail, as if there had been none
    service.stop()
    verify(service, 1, '--witness', kept)


def test_each_advice_of_the_audit_page_works(make_service, tmp_path):
    """docs/tools/audit.md, followed step by step on a trail that is there."""
    service = make_service('basic')
    run(calls(service, 3))
    service.stop()
    assert service.run('audit', 'verify').stdout.startswith('Intact: ')
    # A key pair on an existing trail: for us, and for an auditor with the public key alone.
    service.run_bare('keygen', 'ed25519', '--out', tmp_path / 'audit')
    service.settings['audit.checkpoint_key_path'] = str(tmp_path / 'audit.key')
    service.start()
    run(calls(service, 3))
    service.stop()
    assert [key['kid'] == 'secret' for key in verify(service)['keys']] == [True, False]
    public = service.run_bare('audit', 'verify', service.audit, '--key', tmp_path / 'audit.pub')
    assert public.stdout.startswith('Intact: ')
    # Another secret and another key, the former ones named.
    old = tmp_path / 'old-secret'
    old.touch(mode=0o600)
    old.write_text(service.settings['secret_key'])
    service.settings['secret_key'] = service.settings['secret_key'][::-1]
    service.run_bare('keygen', 'ed25519', '--out', tmp_path / 'second')
    service.settings['audit.checkpoint_key_path'] = str(tmp_path / 'second.key')
    unnamed = service.run('serve', check=False)
    assert unnamed.returncode == 1 and 'audit.old_keys' in unnamed.stderr
    service.settings['audit.old_keys'] = f'{old},{tmp_path}/audit.pub'
    service.settings['audit.checkpoint_records'] = 5000
    service.start()
    run(calls(service, 3, secret_key=service.settings['secret_key']))
    service.stop()
    assert len(verify(service)['keys']) == 3
    # One archived file alone, under another name.
    archived = tmp_path / 'archived.jsonl'
    archived.write_bytes(sorted(service.audit.glob('audit-*.jsonl'))[0].read_bytes())
    assert service.run('audit', 'verify', archived).stdout.startswith('Intact: ')
    # And what it says while nothing is signed.
    fresh = make_service('simple', audit__checkpoint_interval='3600')
    assert fresh.run('audit', 'verify').stdout.startswith('Intact, but nothing was signed yet')


def test_logins_refusals_and_reloads_are_in_the_trail(make_service):
    service = make_service('basic', limits__calls_per_second=10_000, limits__burst=10_000)

    async def work():
        await calls(service, 1)
        for _ in range(3):
            with pytest.raises(Refused):
                await connected(service, token='a.b.c')
        client = await raw_of(service).to('READY')
        message = client.request('session.ping')
        await client.send(message)
        await client.send(message)
        assert await client.refusal() == ('E_REPLAY', 4409)
        for _ in range(60):  # a stranger's flood
            with contextlib.suppress(Refused, websockets.ConnectionClosed, OSError, websockets.InvalidStatus):
                await connected(service, token='a.b.c')

    run(work())
    service.settings['limits.burst'] = 20_000
    service.write_config()
    os.kill(service.process.pid, signal.SIGHUP)
    while 'configuration reloaded' not in service.log.read_text():
        time.sleep(0.02)
    service.stop()
    events = [record for record in trail(service) if record['kind'] == 'event']
    by_name = {}
    for event in events:
        by_name.setdefault(event['event'], []).append(event['details'])
    assert {'alice'} == {one['principal']['sub'] for one in by_name['session_opened']}
    assert by_name['session_ended'][0]['close_code'] == 1000
    assert by_name['login_refused'][0]['code'] == 'E_AUTH' and by_name['login_refused'][0]['peer'] == '127.0.0.1'
    assert [one['code'] for one in by_name['session_refused']] == ['E_REPLAY']
    assert by_name['configuration_reloaded'] == [{'accepted': True, 'changed': ['limits.burst'], 'needs_restart': []}]
    summed = [one for one in by_name['summary'] if one['act'] == 'login_refused']
    assert len(by_name['login_refused']) + sum(one['codes']['E_AUTH'] for one in summed) == 63
    assert len(by_name['login_refused']) < 40
    assert 'a.b.c' not in json.dumps(events)
    assert verify(service)['intact']


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
        blocked = []
        for _ in range(3):
            await asyncio.sleep(0.15)  # the service looks at the disk again
            blocked.append(await code_of(client, 'files.write', path='notes/unseen.txt', content='x', mode='create'))
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


def test_a_caller_without_scopes_fills_no_disk(make_service, small_disk):
    service = make_service('basic', audit__path=str(small_disk / 'audit'))
    service.audit = small_disk / 'audit'
    count = 3000

    async def flood(client):
        with contextlib.suppress(websockets.ConnectionClosed):
            for _ in range(count):
                await client.send(client.request('tool.invoke', {'tool': 'x.y', 'args': {}}))

    async def answers(client):
        codes = {}
        with contextlib.suppress(websockets.ConnectionClosed):
            for _ in range(count):
                code = (await client.receive())['p']['code']
                codes[code] = codes.get(code, 0) + 1
        assert client.socket.close_code == 4429, 'who is refused again and again is disconnected'
        return codes

    async def work():
        client = raw_of(service, token=service.mint('mallory', ['cap:list']))
        await client.to('READY')
        sent, codes, receipts = await asyncio.gather(flood(client), answers(client), calls(service, 20))
        await client.close()
        return codes, receipts

    codes, receipts = run(work())
    assert set(codes) == {'E_TOOL', 'E_RATE'} and len(receipts) == 20
    service.stop()
    report = verify(service)
    assert sum(codes.values()) <= report['refused'] <= count and report['calls'] == 20
    assert report['lines'] < 150, 'at 500 bytes each they would have filled the disk'


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
    # The end of the last session is written behind its answer.
    assert wait_until(lambda: verify(service)['lines'] == len(trail(service)), 10)


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
        written = service.log.read_text() + ''.join(file.read_text() for file in service.audit.rglob('*') if file.is_file())
        assert '"session ready"' in written and '"seal"' in written
        for secret in [*secrets, canary]:
            for part in {secret, *[piece for piece in secret.split('.') if len(piece) > 20]}:
                assert part not in written, f'{mode}: {part[:8]}…'


def test_files_of_the_trail_are_closed_to_others(make_service):
    service = make_service('simple')
    assert service.audit.stat().st_mode & 0o777 == 0o700
    assert all(one.stat().st_mode & 0o777 == (0o700 if one.is_dir() else 0o600) for one in service.audit.rglob('*'))


def test_a_folder_that_was_open_is_closed_with_a_word(make_service):
    service = make_service('simple')
    service.stop()
    service.audit.chmod(0o777)
    service.start()
    assert service.audit.stat().st_mode & 0o777 == 0o700
    assert 'open to others' in service.log.read_text()


def test_two_processes_do_not_share_a_trail(make_service):
    service = make_service('simple')
    second = service.run('serve', '--set', 'SCP_SERVER_PORT=0', check=False)
    assert second.returncode == 1 and second.stderr.count('\n') == 1
