"""The client in TypeScript (clients/typescript), written from the wire's text by itself: its own tests, and what it does with a
real service. devtools/setup.sh installs and compiles it."""
import asyncio
import json
import os
import re
import subprocess
import time

import pytest
from scp import Refused
from scp.keys import SUITES
from test_modes import run, session
from test_pages import blocks
from test_tokens import federation  # noqa: F401  a fixture
from tool_clients import ROOT, client_of
from tool_stack.authority import Authority
from tool_stack.meddler import Meddler
from tool_stack.service import SCOPES, strong
from typescript_client import CLIENT, NODE, PLAIN, Lost, TypescriptClient

ENDLESS = 'SELECT count(*) FROM range(300000) a, range(300000) b'


def run_node(*arguments):
    return subprocess.run([NODE, PLAIN, *arguments], cwd=CLIENT, capture_output=True, text=True, timeout=300)


def test_its_own_tests_pass():
    """Each file is counted: one that ends without a test of its own would be a pass of nothing."""
    files = sorted(str(file.relative_to(CLIENT)) for file in (CLIENT / 'test').glob('*.test.ts'))
    done = run_node('--test', '--test-reporter=tap', '--test-timeout=120000', *files)
    totals = {name: int(value) for name, value in re.findall(r'^# (tests|pass|fail|cancelled|skipped|todo) (\d+)$', done.stdout, re.M)}
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    assert totals['tests'] == totals['pass'] >= 5 * len(files), totals
    assert all(totals[name] == 0 for name in ('fail', 'cancelled', 'skipped', 'todo')), totals


def test_a_failing_test_of_it_is_seen(tmp_path):
    failing = tmp_path / 'failing.test.mjs'
    failing.write_text("import {test} from 'node:test'; test('fails', () => { throw new Error('no'); });")
    done = run_node('--test', '--test-reporter=tap', failing)
    assert done.returncode != 0 and '# fail 1' in done.stdout


@pytest.mark.parametrize('project', ['tsconfig.json', 'test/tsconfig.json'])
def test_its_types_hold(project):
    done = run_node('node_modules/typescript/bin/tsc', '--noEmit', '-p', project)
    assert (done.returncode, done.stdout) == (0, '')


def test_the_package_has_what_it_exports_and_nothing_else():
    manifest = json.loads((CLIENT / 'package.json').read_text())
    packed = subprocess.run(['npm', 'pack', '--dry-run', '--json', '--ignore-scripts'], cwd=CLIENT, check=True, capture_output=True, text=True)
    found = json.loads(packed.stdout)
    files = {file['path'] for file in (found[0] if isinstance(found, list) else next(iter(found.values())))['files']}
    wanted = {name.removeprefix('./') for name in (manifest['exports']['.']['types'], manifest['exports']['.']['default'], manifest['main'])}
    assert wanted | {'package.json', 'README.md'} <= files
    assert not [name for name in files if not re.match(r'(dist|src)/[\w.]+$|package\.json$|README\.md$', name)]
    assert list(manifest['dependencies']) == ['ws']


# ---- With a real service ----


def typescript(service, **changes):
    return client_of(service, kind=TypescriptClient, **changes)


def refusal(client, work=None):
    """The code with which connecting, or else the work, is refused."""
    async def nothing(_):
        return None

    with pytest.raises(Refused) as refused:
        run(session(client, work or nothing))
    return refused.value.code


def test_lists_and_calls_in_every_mode(service):
    async def work(client):
        assert client.session['mode'] == service.mode and client.session['nodeId'] == 'node-b'
        ids = [one['id'] for one in await client.list_capabilities()]
        assert {'sql.query', 'files.read', 'files.write'} <= set(ids) and ids == sorted(ids)
        assert (await client.get_capability('sql.query'))['id'] == 'sql.query'
        table = f'orders_typescript_{service.mode}'
        assert not (await client.invoke_tool('sql.load', file='orders.csv', table=table))['is_error']
        answer = await client.invoke_tool('sql.query', sql=f'SELECT customer, sum(amount) AS total FROM {table} GROUP BY customer ORDER BY customer')
        assert answer['structured']['rows'] == [['ada', 112.5], ['bob', 7.25]]
        assert 'Hello from the file tool.' in json.dumps(await client.invoke_tool('files.read', path='notes/welcome.txt'))
        for value in (1e20, 9007199254740992.0, -1e300, 0.1, 5e-324):
            answer = await client.invoke_tool('sql.query', sql='SELECT $1::DOUBLE AS d', params=[value])
            assert answer['structured']['rows'] == [[value]]
        answers = await asyncio.gather(*(client.invoke_tool('sql.query', sql=f'SELECT {n}::INTEGER AS n') for n in range(4)))
        assert [one['structured']['rows'] for one in answers] == [[[n]] for n in range(4)]
        assert (await client.call('admin.audit.head', {}))['seq'] >= answers[-1]['audit']['seq']
        return answer['audit'], await client.check_receipt(answer['audit'], secret=service.secret('secret_key'))

    audit, holds = run(session(typescript(service), work))
    assert audit['seq'] > 0 and len(audit['hash']) == 64 and holds


def test_a_receipt_that_was_changed_does_not_hold(services):
    async def work(client):
        audit = (await client.invoke_tool('files.list', path='notes'))['audit']
        secret = services['simple'].secret('secret_key')
        return [await client.check_receipt(one, secret=key) for one, key in (
            (audit, secret), ({**audit, 'seq': audit['seq'] + 1}, secret), (audit, strong()))]

    assert run(session(typescript(services['simple']), work)) == [True, False, False]


@pytest.mark.parametrize('tool, arguments, code', [
    ('sql.query', {'sql': 'SELECT 1; SELECT 2'}, 'E_POLICY'), ('sql.query', {'sql': 5}, 'E_SHAPE'), ('files.read', {'path': '../data/orders.csv'}, 'E_POLICY'),
    ('files.unknown', {}, 'E_TOOL'), ('sql.query; DROP', {}, 'E_SHAPE'),
], ids=str)
def test_a_refusal_comes_with_its_code(service, tool, arguments, code):
    assert refusal(typescript(service), lambda client: client.invoke(tool, arguments, {})) == code


def test_an_unknown_operation_is_refused_and_the_session_goes_on(service):
    async def work(client):
        with pytest.raises(Refused) as refused:
            await client.call('cap.subscribe', {})
        assert refused.value.code == 'E_OP'
        return await client.call('session.ping', {})

    assert run(session(typescript(service), work)) == {}


def test_consent_decides(service, consent):
    arguments = {'path': f'notes/typescript-{service.mode}.txt', 'content': 'mine', 'mode': 'create'}
    consent.decision = {'decision': 'deny', 'by': 'operator', 'scope': 'once'}
    try:
        assert refusal(typescript(service), lambda client: client.invoke('files.write', arguments, {})) == 'E_CONSENT'
    finally:
        consent.decision = {'decision': 'approve', 'by': 'operator', 'scope': 'once'}
    assert not (service.folder / 'files' / arguments['path']).exists()

    async def work(client):
        tried = await client.invoke('files.write', arguments, {'dryRun': True})
        assert tried['content'] == [] and not (service.folder / 'files' / arguments['path']).exists()
        return await client.invoke('files.write', arguments, {})

    assert not run(session(typescript(service), work))['is_error']
    assert (service.folder / 'files' / arguments['path']).read_text() == 'mine'


def test_a_call_is_cancelled_by_its_signal(service):
    async def work(client):
        call = asyncio.ensure_future(client.invoke_tool('sql.query', sql=ENDLESS))
        await client.call('session.ping', {})  # Its answer comes after the call was taken.
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert (await client.invoke_tool('sql.query', sql='SELECT 1::INTEGER AS one'))['structured']['rows'] == [[1]]

    run(session(typescript(service), work))


def test_a_call_ends_at_its_deadline(service):
    assert refusal(typescript(service), lambda client: client.invoke_tool('sql.query', deadline_ms=300, sql=ENDLESS)) == 'E_TIMEOUT'


def test_large_answers_come_in_pieces_and_with_progress(service):
    data = os.urandom(300_001)
    (service.folder / 'files/notes/typescript.csv').write_bytes(data)
    folder = service.folder / 'files/typescript'
    folder.mkdir(exist_ok=True)
    for number in range(3000):
        (folder / f'{number}.txt').touch()
    steps = []

    async def work(client):
        answers = [await client.invoke('files.read', {'path': 'notes/typescript.csv', 'encoding': 'base64'}, {'stream': stream})
                   for stream in (True, False)]
        entries = (await client.invoke_tool('files.list', progress=steps.append, path='typescript'))['structured']['entries']
        return [answer['content'] for answer in answers], entries

    (streamed, whole), entries = run(session(typescript(service), work))
    assert streamed == whole and len(entries) == 3000
    assert steps and [step['done'] for step in steps] == sorted(step['done'] for step in steps)


def test_a_refresh_renews_the_session_token(service):
    async def work(client):
        before = client.session['expiresAt']
        after = await client.refresh()
        assert after >= before
        assert (await client.info())['state'] == 'READY'

    run(session(typescript(service), work))


@pytest.mark.parametrize('suite', [name for name in SUITES if name != 'NONE'])
def test_every_suite_and_a_rekey(services, make_service, suite):
    service = services['encrypted'] if suite.startswith('X25519_A') else make_service('encrypted', crypto__suites=suite)

    async def work(client):
        assert client.session['suite'] == suite
        for epoch in range(3):
            assert (await client.info())['epoch'] == epoch
            call = asyncio.ensure_future(client.invoke_tool('sql.query', sql='SELECT 1::INTEGER AS one'))
            await client.rekey()
            assert (await call)['structured']['rows'] == [[1]]

    run(session(typescript(service, suites=(suite,)), work))


def test_keys_are_made_anew_by_the_count_of_records(services):
    async def work(client):
        for _ in range(30):
            await client.call('session.ping', {})
        return (await client.info())['epoch']

    assert run(session(typescript(services['encrypted'], more={'rekeyAfter': {'records': 10}}), work)) >= 2


def test_a_suite_that_the_server_does_not_have_is_refused(make_service):
    service = make_service('encrypted', crypto__suites='X25519_A256GCM_S256')
    assert refusal(typescript(service, suites=('P256_A256GCM_S256',))) == 'E_SHAPE'
    both = typescript(service, suites=('P256_A256GCM_S256', 'X25519_A256GCM_S256'))
    assert run(session(both, TypescriptClient.info))['suite'] == 'X25519_A256GCM_S256'


# ---- Who is who ----


def test_a_wrong_shared_secret_is_seen_before_any_credential(service):
    client = typescript(service, secret_key=strong())
    assert refusal(client) == 'E_SIG'
    secrets = [value for name in ('secret_key', 'kdf_salt', 'api_key') if (value := service.secret(name))] + [client.options['secretKey']]
    assert client.printed and not [one for text in client.printed for one in secrets if one in text]
    assert refusal(typescript(service, secret_key=strong(), secret_key_previous=strong())) == 'E_SIG'
    run(session(typescript(service, secret_key=strong(), secret_key_previous=service.secret('secret_key')), TypescriptClient.info))


def test_what_is_printed_of_a_client_has_no_secret(service):
    client = typescript(service)
    printed = run(session(client, TypescriptClient.inspect))
    secrets = [client.options[name] for name in ('secretKey', 'kdfSalt', 'apiKey', 'token') if name in client.options]
    assert len(secrets) >= 3 and 'Client' in printed
    assert not [one for one in secrets if one in printed]


def test_another_mode_is_refused(services):
    service = services['encrypted']
    client = typescript(service)
    client.options['mode'] = 'simple'
    assert refusal(client) == 'E_AUTH'


@pytest.mark.parametrize('mode', ['simple', 'encrypted'])
def test_a_wrong_api_key_is_refused(services, mode):
    assert refusal(typescript(services[mode], api_key=strong())) == 'E_AUTH'


@pytest.mark.parametrize('mode', ['basic', 'enterprise'])
@pytest.mark.parametrize('env', [{}, {'NODE_TLS_REJECT_UNAUTHORIZED': '0'}], ids=['as it is', 'told to trust anybody'])
def test_a_server_of_another_authority_is_refused(services, tmp_path, mode, env):
    stranger = Authority(tmp_path / 'stranger').roots
    with pytest.raises(Lost) as lost:
        run(typescript(services[mode], ca=stranger, env=env).connect())
    assert 'certificate' in str(lost.value) or 'self-signed' in str(lost.value)


def test_somebody_in_the_middle_with_a_good_certificate_is_refused(service, authority):
    """Over TLS the session is bound to the connection, so one that is relayed is not taken, and no credential goes out. Without TLS
    a relay is no more than a cable: it may read, and what it changes is seen."""
    def changing(side, index, data):
        return data.replace('"cluster":"cluster-1"', '"cluster":"cluster-2"') if (side, index) == ('server', 0) else data

    async def work(edit):
        async with Meddler(service, edit, authority.server_tls('meddler') if service.tls else None) as meddler:
            client = typescript(service)
            client.options['url'] = meddler.url
            outcome = None
            try:
                await session(client, lambda client: client.call('session.ping', {}))
            except Refused as refused:
                outcome = refused.code
            return outcome, len([data for side, data in meddler.seen if side == 'client'])

    assert run(work(changing)) == ('E_SIG', 1)
    code, sent = run(work(lambda side, index, data: data))
    assert (code, sent) == (('E_SIG', 1) if service.tls else (None, 4))


def test_a_certificate_is_a_credential(make_service, authority, tmp_path):
    service = make_service('basic', server__client_ca=str(authority.roots), server__client_certificate='optional',
                           security__certificate_scopes='cap:list,tool:invoke:files.read')

    async def work(client):
        assert client.session['principal']['sub'] == 'CN=robot-9'
        return [one['id'] for one in await client.list_capabilities()]

    assert run(session(typescript(service, token='', certificate=authority.client('robot-9')), work)) == ['files.read']
    with pytest.raises(Lost):
        run(typescript(service, token='', certificate=Authority(tmp_path / 'stranger').client('robot-9')).connect())


def test_a_bound_token_opens_for_its_holder_alone(services, tmp_path):
    service = services['basic']
    for name in ('agent', 'thief'):
        service.run_bare('keygen', 'ed25519', '--out', str(tmp_path / name))
    token = service.run('mint-token', '--subject', 'alice', '--scope', ' '.join(SCOPES), '--lifetime', '600', '--holder',
                        str(tmp_path / 'agent.pub')).stdout.strip()

    async def work(client):
        await client.refresh()
        return await client.invoke_tool('files.read', path='notes/welcome.txt')

    assert not run(session(typescript(service, token=token, holder_key=tmp_path / 'agent.key'), work))['is_error']
    assert refusal(typescript(service, token=token, holder_key=tmp_path / 'thief.key')) == 'E_AUTH'
    assert refusal(typescript(service, token=token)) == 'E_AUTH'


def test_session_tokens_are_verified_with_the_nodes_key(federation):  # noqa: F811
    issuer, verifier, folder = federation
    token = issuer.mint('alice')
    for service, key in ((verifier, 'own.pub'), (issuer, 'issuer.pub')):
        run(session(typescript(service, token=token, token_key=folder / key), TypescriptClient.refresh))
    for service, key in ((verifier, 'issuer.pub'), (issuer, 'own.pub')):
        assert refusal(typescript(service, token=token, token_key=folder / key)) == 'E_SIG'


def test_a_proof_that_the_client_cannot_check_is_none(services):
    """Also in mode enterprise, where a server may have no secret: this one has, and proves no less than it can."""
    run(session(typescript(services['enterprise']), TypescriptClient.info))
    assert refusal(typescript(services['enterprise'], secret_key='', kdf_salt='')) == 'E_SHAPE'


@pytest.mark.parametrize('mode', ['basic', 'enterprise'])
def test_a_fresh_token_is_taken_for_each_connection_and_refresh(services, mode):
    service, given = services[mode], []

    async def fresh():
        given.append(await asyncio.to_thread(service.mint) if mode == 'basic' else await asyncio.to_thread(service.identity.token, 'agent'))
        return given[-1]

    run(session(typescript(service, token=fresh), TypescriptClient.refresh))
    assert len(given) == 2


def test_a_session_outlives_its_tokens(make_service):
    """The client renews them by itself, with a fresh credential each time."""
    service, lifetime, given = make_service('basic', security__session_token_lifetime=3), 3, []

    async def fresh():
        given.append(await asyncio.to_thread(service.mint, seconds=lifetime))
        return given[-1]

    async def work(client):
        first = client.session['expiresAt']
        while (await client.info())['expiresAt'] < first + 1000 * lifetime:
            await asyncio.sleep(0.05)
        return first, await client.list_capabilities()

    first, answer = run(session(typescript(service, token=fresh), work))
    assert answer and first <= time.time() * 1000 and len(given) >= 3


def test_an_address_without_a_path_means_the_servers(services):
    service = services['simple']
    client = typescript(service)
    client.options['url'] = service.url.removesuffix('/scp/v3')
    run(session(client, TypescriptClient.info))
    client = typescript(service)
    client.options['url'] += '/other'
    with pytest.raises(Lost, match='404'):
        run(client.connect())


# ---- What the pages say ----


@pytest.mark.parametrize('page', ['docs/tools/clients.md', 'clients/typescript/README.md'])
def test_the_example_of_a_page_runs_as_it_stands(services, tmp_path, page):
    """In a project of its own that has the package installed."""
    service = services['simple']
    subprocess.run(['npm', 'install', '--offline', '--no-audit', '--no-fund', '--silent', CLIENT], cwd=tmp_path, check=True, timeout=120)
    port = re.search(r':(\d+)/', service.url)[1]
    (tmp_path / 'example.mjs').write_text(next(iter(blocks(ROOT / page, 'js'))).replace('7443', port))
    secrets = {f'SCP_{name.upper()}': service.secret(name) for name in ('secret_key', 'kdf_salt', 'api_key')}
    (tmp_path / '.env').write_text(''.join(f'{name}={value}\n' for name, value in secrets.items()))

    def example():
        return subprocess.run([NODE, 'example.mjs'], cwd=tmp_path, env=secrets, capture_output=True, text=True, timeout=60)

    done = example()
    assert done.returncode == 0 and re.search(r'\[ *\[ *42 *\] *\]', done.stdout) and 'hash' in done.stdout, done
    (tmp_path / 'example.mjs').write_text((tmp_path / 'example.mjs').read_text().replace(port, '1'))
    failed = example()
    assert 'no connection to the server' in failed.stdout + failed.stderr, failed
