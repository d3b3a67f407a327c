"""A TLS client certificate as the credential: method mtls."""
import pytest
import websockets
from tool_clients import client_of
from scp import Refused
from test_modes import run, session
from tool_stack.authority import Authority


@pytest.fixture(scope='module')
def service(make_service, authority):
    return make_service('basic', server__client_ca=str(authority.roots), server__client_certificate='optional',
                        security__certificate_scopes='cap:list,tool:invoke:files.read')


def test_a_certificate_names_its_holder_and_opens_what_is_granted(service, authority):
    async def work(client):
        assert client.session['principal']['sub'] == 'CN=robot-7'
        assert [one['id'] for one in await client.list_capabilities()] == ['files.read']
        assert not (await client.invoke_tool('files.read', path='notes/welcome.txt'))['is_error']
        with pytest.raises(Refused) as refused:
            await client.invoke_tool('sql.query', sql='SELECT 1')
        assert refused.value.code == 'E_TOOL'

    run(session(client_of(service, token='', certificate=authority.client('robot-7')), work))


def test_without_a_certificate_the_method_is_refused(service):
    with pytest.raises(Refused) as refused:
        run(client_of(service, token='').connect())
    assert refused.value.code == 'E_AUTH'


def test_a_certificate_of_a_stranger_ends_the_tls_handshake(service, tmp_path):
    stranger = Authority(tmp_path / 'stranger').client('robot-7')
    with pytest.raises((OSError, websockets.WebSocketException)):
        run(client_of(service, token='', certificate=stranger).connect())


def test_the_method_is_not_offered_without_scopes_for_it(services, authority):
    with pytest.raises(Refused) as refused:
        run(client_of(services['basic'], token='', certificate=authority.client('robot-8')).connect())
    assert refused.value.code == 'E_AUTH'
