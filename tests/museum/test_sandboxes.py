"""A sandbox inside of an interpreter. The service has no interpreter to offer; one of others that it bridges stands behind walls of the kernel."""
import pytest
from bridged import await_tools, run, settings_of
from exploits import bridged_replica, call_replica, stopped_by
from holes import shows
from own_tools import failed, good, invoke, text
from scp import Refused
from test_modes import session
from tool_clients import client_of

SECRET = 'for nobody but its owner'
DUNDER = "'_' * 2"  # a filter for the text sees none


def special(name):
    return f"{DUNDER} + '{name}' + {DUNDER}"


def escape(file):
    """From an empty tuple to every class there is, to one of the module os, to what that module sees."""
    classes = f"getattr(getattr(getattr((), {special('class')}), {special('base')}), {special('subclasses')})()"
    wrapper = f"[one for one in {classes} if getattr(one, {special('name')}) == '_wrap_close'][0]"
    seen = f"getattr(getattr({wrapper}, {special('init')}), {special('globals')})"
    return f"{seen}[{special('builtins')}]['open']('{file}').read()"


@pytest.fixture(scope='module')
def secret(tmp_path_factory):
    file = tmp_path_factory.mktemp('secret') / 'secret.txt'
    file.write_text(SECRET)
    return file


@shows('CVE-2026-53710')
def test_an_escape_from_a_sandbox_ends_at_the_walls(make_service, secret):
    code = escape(secret)
    assert call_replica('sandbox.py', [], 'execute_code', code=code) == (SECRET, False)
    assert 'forbidden' in call_replica('sandbox.py', [], 'execute_code', code='().__class__')[0]

    service = make_service(**settings_of(bridged_replica('sandbox', 'sandbox.py')))

    async def listed(client):
        await await_tools(client, ['sandbox.execute_code'])

    run(session(client_of(service), listed))
    answer = invoke(service, 'sandbox.execute_code', code=code)
    assert failed(answer).startswith('PermissionError: [Errno 13]') and SECRET not in text(answer)
    assert good(invoke(service, 'sandbox.execute_code', code="len('abc')")) == '3'


@shows('CVE-2026-53710')
@pytest.mark.parametrize('sql, rule', [
    ("SELECT * FROM read_text('{secret}')", 'the table function read_text is not allowed'), ("SELECT * FROM '{secret}'", 'is not allowed'),
    ("SELECT getenv('HOME')", 'the function getenv is not allowed'), ("COPY (SELECT 1) TO '{secret}'", 'only a SELECT is allowed'),
    ('INSTALL shellfs', 'only a SELECT is allowed')], ids=str)
def test_what_is_interpreted_here_is_closed_sql(service, secret, sql, rule):
    refusal = invoke(service, 'sql.query', sql=sql.format(secret=secret))
    assert isinstance(refusal, Refused) and refusal.code == 'E_POLICY' and rule in str(refusal), refusal
    assert stopped_by(service, 'sql.query') == ('execute', 'E_POLICY') and secret.read_text() == SECRET
    assert invoke(service, 'sandbox.execute_code', code='1').code == 'E_TOOL'
