"""The page /admin in a real browser: pins, consents, sessions and the trail, and who may not. docs/tools/operate.md."""
import asyncio
import http.client
import json
import pathlib
import re
import threading

import pytest
from bridged import audit_lines, await_pins, pins, test_server, until
from console_page import Console, browser as launched
from playwright.sync_api import expect
from test_tokens import hs256
from mcp_messages import McpCaller
from test_mcp_http import records_of
from tool_clients import client_of

ROOT = pathlib.Path(__file__).resolve().parents[3]
SOURCES = ROOT / 'toolserver/admin'
ALL = 'admin:tools admin:consent admin:session admin:audit'
MARKUP = '<img src=x onerror=alert(1)>'
TOOL = {'name': 'fetch', 'description': f'Fetches. {MARKUP}', 'inputSchema': {'type': 'object', 'properties': {'url': {'type': 'string'}}}}


@pytest.fixture(scope='module')
def offered(tmp_path_factory):
    file = tmp_path_factory.mktemp('offered') / 'tools.json'
    file.write_text(json.dumps([TOOL]))
    return file


@pytest.fixture(scope='module')
def administered(make_service, offered):
    return make_service('simple', mcp__enabled=True, admin__enabled=True, admin__consent=True, hooks__consent_url=None, hooks__consent_timeout='60',
                        **test_server('far', 'changing.py', offered))


# Of a module: while it is there, no other test could run an event loop of its own.
@pytest.fixture(scope='module')
def chromium():
    with launched() as made:
        yield made


@pytest.fixture
def page(chromium, administered):
    """Opens the page; each tab is checked for faults and strange requests at the end."""
    opened = []

    def open_page(scope=ALL, sub='operator', **options):
        tab = Console(chromium, administered.http_url, path='/admin', **options)
        opened.append(tab)
        sign_in(tab, hs256(administered, scope=scope, sub=sub))
        return tab

    yield open_page
    for one in opened:
        one.close()


def sign_in(tab, token):
    tab.page.get_by_label('Bearer token or API key').fill(token)
    tab.page.get_by_role('button', name='Sign in').click()


def fetched(service, path, method='GET', token=None, body=None, **headers):
    """Status, headers and body; `headers` with `_` for `-`."""
    connection = http.client.HTTPConnection('127.0.0.1', service.port, timeout=30)
    sent = {name.replace('_', '-'): value for name, value in headers.items()}
    if token:
        sent['Authorization'] = f'Bearer {token}'
    if body is not None:
        sent.setdefault('Content-Type', 'application/json')
    connection.request(method, path, body=None if body is None else json.dumps(body), headers=sent)
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    return answer.status, dict(answer.getheaders()), text


ROUTES = [('GET', 'tools', 'admin:tools'), ('POST', 'pins/approve', 'admin:tools'), ('POST', 'pins/revoke', 'admin:tools'), ('GET', 'consents', 'admin:consent'),
          ('POST', 'consents/decide', 'admin:consent'), ('POST', 'consents/revoke', 'admin:consent'), ('GET', 'sessions', 'admin:session'), ('POST', 'sessions/end', 'admin:session'), ('GET', 'audit', 'admin:audit')]


def test_every_request_needs_its_scope_and_no_other_opens_it(administered):
    for method, path, scope in ROUTES:
        body = {} if method == 'POST' else None
        others = hs256(administered, scope=' '.join(one for one in ALL.split() if one != scope) + ' cap:list tool:invoke:files.*')
        assert fetched(administered, f'/admin/api/{path}', method, None, body)[0] == (401 if method == 'GET' else 413), 'no body is taken from a stranger'
        assert fetched(administered, f'/admin/api/{path}', method, others, body)[0] == 403
        mine = fetched(administered, f'/admin/api/{path}', method, hs256(administered, scope=scope), body)[0]
        assert mine == (200 if method == 'GET' else 400)
        wrong = 'POST' if method == 'GET' else 'GET'
        assert fetched(administered, f'/admin/api/{path}', wrong, hs256(administered, scope=scope), {} if wrong == 'POST' else None)[0] == 405
    assert fetched(administered, '/admin/api/self', token=hs256(administered, scope='cap:list'))[0] == 403
    assert fetched(administered, '/admin/api/none', token=hs256(administered, scope=ALL))[0] == 404


def test_nobody_else_can_send_a_request_in_an_administrators_name(administered):
    token = hs256(administered, scope=ALL)
    good = {'token': token, 'Sec_Fetch_Site': 'same-origin'}
    assert fetched(administered, '/admin/api/tools', **good)[0] == 200
    assert fetched(administered, '/admin/api/tools', token=token, Origin=administered.http_url)[0] == 200
    for headers in ({'Origin': 'https://evil.example'}, {'Origin': 'null'}, {'Origin': f'http://127.0.0.1:{administered.port + 1}'}, {'Sec_Fetch_Site': 'cross-site'},
                    {'Sec_Fetch_Site': 'same-site'}, {'Host': 'evil.example'}, {'Host': f'evil.example:{administered.port}'}):
        assert fetched(administered, '/admin/api/tools', token=token, **headers)[0] in (403, 421), headers
    # Without a token nothing else makes somebody of a browser.
    assert fetched(administered, '/admin/api/tools', Cookie=f'token={token}')[0] == 401
    assert fetched(administered, f'/admin/api/tools?access_token={token}')[0] == 401
    # What a form of another page could send is no request here.
    status, _, _ = fetched(administered, '/admin/api/sessions/end', 'POST', token, {'session_id': 'x'}, Content_Type='text/plain')
    assert status == 415
    for body in ([], {'session_id': 7}, {'session_id': ''}, {'session_id': 'x' * 257}, {}):
        assert fetched(administered, '/admin/api/sessions/end', 'POST', token, body)[0] == 400
    assert fetched(administered, '/admin/api/sessions/end', 'POST', token, {'session_id': 'x' * (17 << 10)})[0] == 413


def test_the_files_say_what_a_browser_may_do_and_lead_nowhere_else(administered, make_service):
    for name in ('', *(f'/{one.name}' for one in SOURCES.iterdir() if one.suffix in ('.css', '.js', '.svg'))):
        status, headers, text = fetched(administered, f'/admin{name}')
        assert status == 200 and text == (SOURCES / (name[1:] or 'index.html')).read_bytes()
        assert "default-src 'none'" in headers['Content-Security-Policy'] and 'Set-Cookie' not in headers
        assert fetched(administered, f'/admin{name}', If_None_Match=headers['ETag'])[0] == 304
        found = re.findall(r'innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b|new Function|style=|\son\w+="|javascript:|localStorage|sessionStorage|document\.cookie|https?://(?!www\.w3\.org/2000/svg)', text.decode())
        assert not found and (name == '/page.js' or b'createElement' not in text), name
    for path in ('/admin/', '/admin/none.js', '/admin/README.md', '/admin/..%2Fadmin.js', '/adminx'):
        assert fetched(administered, path)[0] == 404
    assert fetched(administered, '/admin', 'POST')[0] == 405
    assert fetched(make_service('simple'), '/admin')[0] == 404, 'it is off unless it is set'


def test_what_a_configuration_cannot_mean_is_refused(administered):
    for setting, value in (('hooks.consent_url', 'http://127.0.0.1:9/ask'), ('mcp.path', '/admin/x'), ('security.require_bound_tokens', 'true'), ('admin.enabled', '0')):
        refused = administered.run('config', 'check', '--set', f'SCP_{setting.replace(".", "_").upper()}={value}', check=False)
        assert refused.returncode != 0 and ('admin' in refused.stderr or 'mcp.path' in refused.stderr), setting


def test_a_tool_is_approved_as_it_was_shown(page, administered, offered):
    await_pins(administered, {'far.fetch': 'new'})
    tab = page()
    tab.titled('Tools')
    card = tab.page.get_by_role('region', name='far.fetch')
    expect(card).to_contain_text(MARKUP)
    shown = next(one['pin'] for one in json.loads(fetched(administered, '/admin/api/tools', token=hs256(administered, scope=ALL))[2])['pins'])
    # It changes under the reader's eyes: the approval of what is shown is refused.
    offered.write_text(json.dumps([{**TOOL, 'description': 'Deletes.'}]))
    until(lambda: pins(administered)['far.fetch']['pin'] != shown, 'the changed tool')
    tab.refusals.add(409)
    card.get_by_role('button', name='Approve far.fetch').click()
    tab.refused('It changed since you looked at it')
    tab.page.reload()
    sign_in(tab, hs256(administered, scope=ALL, sub='operator'))
    expect(card).to_contain_text('Deletes.')
    card.get_by_role('button', name='Approve far.fetch').click()
    tab.told('far.fetch is approved')
    await_pins(administered, {'far.fetch': 'pinned'})
    card.get_by_role('button', name='Revoke far.fetch').click()
    tab.told('far.fetch is revoked')
    await_pins(administered, {'far.fetch': 'new'})
    acts = [(line['event'], line['details']['by'], line['details']['tool']) for line in audit_lines(administered) if line.get('event', '').startswith('pin_')]
    assert acts[-3:] == [('pin_approve', 'operator', 'far.fetch'), ('pin_approve', 'operator', 'far.fetch'), ('pin_revoke', 'operator', 'far.fetch')]


class Writing(threading.Thread):
    """A caller whose write waits for somebody's consent."""

    def __init__(self, service, path, content, mode='create', token=None, **claims):
        super().__init__(daemon=True)
        token = token or hs256(service, **{'scope': 'tool:invoke:files.write', 'sub': 'alice', **claims})
        self.call = lambda: McpCaller(service, token).call('files.write', {'path': path, 'content': content, 'mode': mode})
        self.start()

    def run(self):
        self.answer = self.call().last

    def ended(self):
        self.join(60)
        return self.answer


def test_a_question_is_answered_on_the_page(page, administered):
    tab = page()
    tab.go('Consents')
    tab.reads('Nobody waits for consent')
    for decision, path in (('Approve once', 'yes.txt'), ('Deny', 'no.txt')):
        writing = Writing(administered, path, MARKUP)
        card = tab.page.get_by_role('region', name=re.compile('alice asks to run files.write'))
        expect(card).to_contain_text(f'"path":"{path}"')
        expect(card).to_contain_text('"content":"' + MARKUP)
        card.get_by_role('button', name=decision, exact=True).click()
        answer = writing.ended()
        assert (administered.folder / 'files' / path).exists() is (decision == 'Approve once'), answer
        tab.reads('Nobody waits for consent')
    agreed = [line['consent'] for line in records_of(administered, 'files.write')]
    assert agreed[-2:] == ['approved for once by operator', 'denied by operator']


def test_an_approval_for_more_than_one_call_is_taken_back(page, administered):
    tab = page()
    tab.go('Consents')
    wanted = {'path': 'again.txt', 'content': 'once more', 'mode': 'replace'}
    token = hs256(administered, scope='tool:invoke:files.write', sub='alice')

    def write():
        return Writing(administered, **wanted, token=token)

    writing = write()
    tab.page.get_by_role('button', name='Approve these arguments').click()
    assert not writing.ended()['result'].get('isError')
    expect(tab.row('Approvals', 'alice')).to_contain_text('files.write')
    admin = hs256(administered, scope='admin:consent', sub='operator')
    flags = ['--set', f'SCP_SECURITY_CLIENT_TOKEN={admin}']
    listed = [json.loads(line) for line in administered.run('consents', 'list', '--json', *flags).stdout.splitlines()]
    assert [(one['principal']['sub'], one['tool'], one['scope'], one['by']) for one in listed] == [('alice', 'files.write', 'args_hash', 'operator')]
    assert administered.run('consents', 'revoke', '999', *flags, check=False).returncode == 1
    assert administered.run('consents', 'revoke', str(listed[0]['id']), *flags).stdout == '1 revoked\n'
    assert administered.run('consents', 'list', '--json', *flags).stdout == ''
    tab.reads('Nothing.')
    writing = write()
    tab.page.get_by_role('button', name='Approve these arguments').click()
    writing.ended()
    tab.row('Approvals', 'alice').get_by_role('button', name='Take back').click()
    tab.reads('Nothing.')
    assert [line['details'].get('by') for line in audit_lines(administered) if line.get('event') == 'consent_revoke'][-2:] == ['operator', 'operator']


def test_nobody_agrees_to_a_call_of_his_own(page, administered):
    writing = Writing(administered, 'own.txt', 'mine', sub='both')
    tab = page(sub='both', refusals={403})
    tab.go('Consents')
    card = tab.page.get_by_role('region', name=re.compile('both asks to run'))
    card.get_by_role('button', name='Approve once').click()
    tab.refused('nobody agrees to a call of his own')
    number = json.loads(fetched(administered, '/admin/api/consents', token=hs256(administered, scope=ALL))[2])['consents'][0]['id']
    assert fetched(administered, '/admin/api/consents/decide', 'POST', hs256(administered, scope=ALL, sub='operator'), {'id': number, 'decision': 'deny'})[0] == 200
    writing.ended()
    assert not (administered.folder / 'files/own.txt').exists()
    gone = fetched(administered, '/admin/api/consents/decide', 'POST', hs256(administered, scope=ALL), {'id': number, 'decision': 'approve', 'scope': 'once'})
    assert gone[0] == 403 and b'does not wait any more' in gone[2]


def test_a_session_is_ended(page, administered):
    calling = administered.run('call', 'files.stat', 'path=notes/welcome.txt')
    assert calling.returncode == 0
    ended = {}

    def stay():
        async def work():
            client = client_of(administered, token=hs256(administered, sub='stays', scope='cap:list'))
            await client.connect()
            connected.set()
            await client.socket.wait_closed()
            ended['code'] = client.socket.close_code

        asyncio.run(work())

    connected = threading.Event()
    thread = threading.Thread(target=stay, daemon=True)
    thread.start()
    assert connected.wait(30)
    tab = page()
    tab.go('Sessions')
    tab.row('Sessions', 'stays').get_by_role('button', name='End').click()
    tab.told('The session of stays is ended')
    thread.join(30)
    assert ended['code'] == 4403
    expect(tab.page.get_by_role('main')).not_to_contain_text('stays')


def test_the_trail_is_searched(page, administered):
    caller = McpCaller(administered, hs256(administered, sub=f'seeker {MARKUP}', scope='tool:invoke:files.stat'))
    for _ in range(3):
        caller.call('files.stat', {'path': 'notes/welcome.txt'})
    caller.call('files.stat', {'path': '../out'})
    tab = page()
    tab.go('Audit')
    tab.page.get_by_label('Caller').fill(f'seeker {MARKUP}')
    tab.page.get_by_label('Kind').fill('seal')
    tab.page.get_by_role('button', name='Search').click()
    expect(tab.row('Audit', MARKUP)).to_have_count(4)
    tab.page.get_by_label('Text').fill('E_POLICY')
    tab.page.get_by_role('button', name='Search').click()
    expect(tab.row('Audit', 'E_POLICY')).to_have_count(1)
    expect(tab.row('Audit', MARKUP)).to_have_count(1)
    tab.page.get_by_label('Text').fill('no such words')
    tab.page.get_by_role('button', name='Search').click()
    tab.reads('There is no such line.')


KEPT = '() => [Object.entries(localStorage), Object.entries(sessionStorage), document.cookie, history.state]'


@pytest.mark.parametrize('scheme', ['light', 'dark'])
def test_it_is_used_by_keyboard_in_light_and_dark(chromium, administered, scheme):
    tab = Console(chromium, administered.http_url, path='/admin', refusals={401, 403}, color_scheme=scheme, viewport={'width': 1100, 'height': 700})
    sign_in(tab, 'no.token.here')
    tab.refused('does not take this credential')
    sign_in(tab, hs256(administered, scope='cap:list'))
    tab.refused('needs a scope of administrators')
    tab.page.keyboard.type(hs256(administered, scope='admin:session admin:audit', sub='operator'))
    tab.page.keyboard.press('Enter')
    tab.titled('Sessions')
    expect(tab.page.get_by_role('navigation').get_by_role('link')).to_have_text(['Sessions', 'Audit'])
    audit = tab.page.get_by_role('link', name='Audit')
    for _ in range(5):
        tab.page.keyboard.press('Shift+Tab')
        if audit.evaluate('node => node === document.activeElement'):
            break
    tab.page.keyboard.press('Enter')
    tab.titled('Audit')
    ground, ink = tab.page.evaluate('() => { const style = getComputedStyle(document.body); return [style.backgroundColor, style.color]; }')
    dark = [sum(map(int, re.findall(r'\d+', one)[:3])) < 380 for one in (ground, ink)]
    assert dark == [scheme == 'dark', scheme == 'light']
    assert tab.page.evaluate(KEPT) == [[], [], '', None]
    tab.page.get_by_role('button', name='Sign out').click()
    tab.titled('Sign in')
    tab.close()
