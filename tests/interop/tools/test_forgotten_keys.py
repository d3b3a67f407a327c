"""With forward secrecy the keys of a session are discarded after use: who gets hold of the service's memory later finds none of
them. The client knows the same keys, so the memory can be searched for them. Specification, sections 2.1 and 5.2.5."""
import os

import pytest
from bridged import until
from raw import Raw, client_of, run
from scp import keys
from scp.canonical import canonical, parse

WAIT = 20


class Knowing(Raw):
    """Keeps what the handshake made on the way to its keys."""

    def _take_welcome(self, text):
        super()._take_welcome(text)
        group = keys.SUITES[self.suite][0]
        shared = keys.agree(group, self.private[group], keys.unb64(parse(text)['p']['eph_s']))
        self.made = {'shared secret': shared, 'input of the keys': shared + self.psks[0],
                     'secret of the keys': keys.extract(self.th1, shared + self.psks[0])}


def held(service, wanted):
    """The names of `wanted` whose bytes stand in the memory of the service."""
    found = set()
    with open(f'/proc/{service.process.pid}/maps') as maps, open(f'/proc/{service.process.pid}/mem', 'rb', buffering=0) as memory:
        for line in maps:
            area, rights, *_ = line.split()
            begin, end = (int(one, 16) for one in area.split('-'))
            if not rights.startswith('rw'):
                continue
            try:
                part = os.pread(memory.fileno(), end - begin, begin)
            except OSError:
                continue  # A page that cannot be read, as of a device.
            found |= {name for name, value in wanted.items() if value in part}
    return found


def gone(service, wanted, what):
    """But for the IVs: they are no keys, and of no use without one."""
    secret = {name: value for name, value in wanted.items() if not name.endswith(' iv')}
    until(lambda: not held(service, secret), what, WAIT)


@pytest.fixture(scope='module')
def alone(make_service):
    """Services that nobody else uses."""
    made = {}
    return lambda mode: made.get(mode) or made.setdefault(mode, make_service(mode, server__workers=1))


def test_what_is_looked_for_can_be_found(alone):
    """A secret of the configuration is there as long as the service is, and a key as long as its session."""
    service = alone('simple')
    assert held(service, {'secret': service.secret('secret_key').encode(), 'noise': os.urandom(32)}) == {'secret'}


@pytest.mark.parametrize('mode, used', [('encrypted', {'c2s key', 's2c key'}), ('simple', {'c2s sig', 's2c sig'})])
@pytest.mark.parametrize('how', ['closed', 'cut'])
def test_the_keys_of_a_session_go_with_it(alone, mode, used, how):
    service = alone(mode)

    async def work():
        client = await client_of(service, kind=Knowing).to('READY')
        try:
            assert await client.is_alive()
            during = held(service, client.keys)
            assert during & used, 'a key that is in use is there'
            # Good for nothing more once the keys are made.
            assert not held(service, client.made), 'kept after the handshake'
            if how == 'closed':
                await client.ask('session.close')
        finally:
            await client.close()
        return {**client.keys, **client.made}

    gone(service, run(work()), 'no key of the session')


def test_the_keys_of_an_epoch_go_with_it(alone):
    service = alone('encrypted')

    async def work():
        client = await client_of(service, kind=Knowing).to('READY')
        try:
            before = client.keys
            private, share = keys.make_share(keys.SUITES[client.suite][0])
            client.rekeying = private, share
            answer = await client.ask('session.rekey', {'eph': keys.b64(share)})
            client._rekey(answer['p'])
            assert await client.is_alive()
            old = {name: value for name, value in before.items() if value != client.keys[name]}
            assert len(old) == len(keys.LABELS) and held(service, client.keys)
            gone(service, old, 'no key of the epoch before')
        finally:
            await client.close()

    run(work())


def test_the_keys_of_a_handshake_that_fails_go_with_it(alone):
    """One that ends before any session stands."""
    service = alone('encrypted')

    async def work():
        client = await client_of(service, kind=Knowing).to('NEGOTIATED')
        try:
            auth = client._make_auth()
            auth['p']['confirm'] = keys.b64(bytes(32))
            await client.socket.send(client.sender.seal(canonical(auth)))
            assert await client.refusal() == ('E_SIG', 4401)
        finally:
            await client.close()
        return {**client.keys, **client.made}

    gone(service, run(work()), 'no key of the handshake')
