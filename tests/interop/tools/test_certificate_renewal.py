"""A certificate that is renewed while the service runs: SIGHUP, and no restart."""
import asyncio
import os
import ssl

import pytest
from raw import run
from test_lifecycle import reload
from test_modes import session
from tool_clients import client_of


@pytest.fixture
def service(make_service, authority):
    certificate, key = authority.server('renewed')
    service = make_service('basic', server__tls_cert=str(certificate), server__tls_key=str(key))
    service.settings['security.client_token'] = service.mint()
    return service


def served(service):
    """The certificate that a new connection is shown."""
    return ssl.get_server_certificate(('127.0.0.1', service.port))


async def stat(client):
    return (await client.invoke_tool('files.stat', path='notes/welcome.txt'))['is_error']


def test_a_renewed_certificate_serves_both_clients(service, authority):
    async def work():
        old = client_of(service)
        await old.connect()
        before = served(service)
        certificate, _ = authority.server('renewed')
        assert served(service) == before, 'files that changed are not read before SIGHUP'
        said = await asyncio.to_thread(reload, service)
        assert 'server.tls_cert' in said['changed']
        assert served(service) == certificate.read_text() != before
        fresh = client_of(service)
        await fresh.connect()
        answers = await asyncio.gather(*(stat(client) for client in (old, fresh)))
        await asyncio.gather(*(client.disconnect() for client in (old, fresh)))
        return answers

    assert run(work()) == [False, False]
    assert 'files.stat' in service.run('list').stdout
    said = reload(service)
    assert 'server.tls_cert' not in said['changed'], 'the same certificate once more is no change'


@pytest.mark.parametrize('fault', ['another key', 'no certificate', 'no key', 'not PEM'])
def test_a_broken_pair_is_refused_as_a_whole(service, authority, fault):
    before = served(service)
    certificate, key = service.settings['server.tls_cert'], service.settings['server.tls_key']
    kept = {name: open(name).read() for name in (certificate, key)}
    other, _ = authority.server('other')
    if fault == 'another key':
        open(certificate, 'w').write(other.read_text())
    elif fault == 'not PEM':
        open(certificate, 'w').write('no certificate')
    else:
        os.remove(certificate if fault == 'no certificate' else key)
    said = reload(service, limits__output_bytes=2_500_000)
    assert said['level'] == 'error' and 'old one stays' in said['msg'], said
    assert 'server.tls_' in said['error'], said
    assert served(service) == before
    # Nothing of the refused configuration is in force, and a client that is bound to the certificate still connects.
    answer = run(session(client_of(service, token=service.settings['security.client_token']), lambda client: client.invoke_tool('sql.query', sql="SELECT repeat('x', 10000) AS t FROM range(130)")))
    assert not answer['is_error']
    for name, text in kept.items():
        with open(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), 'w') as file:
            file.write(text)
    assert reload(service)['level'] == 'info' and served(service) == before
