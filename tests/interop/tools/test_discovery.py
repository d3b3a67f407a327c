"""Nodes that are found by real servers: a name server, etcd and, where it is installed, Consul. What these say is where to knock, and
never who is there. What Consul alone has is in test_consul.py."""
import asyncio
import contextlib
import os
import pathlib
import shutil
import signal
import socket
import threading
import urllib.request

import pytest
from bridged import await_tools, run, until
from federated import WAIT, FakeNode, Federation, Signer, invoke, record_of
from scp import Refused
from stack import ports
from test_modes import session
from tool_clients import client_of
from tool_stack.discovery_servers import CONSUL, Consul, Etcd, NameServer

with_consul = pytest.mark.skipif(not CONSUL.exists(), reason='Consul is not installed: ./dev setup consul')


@pytest.fixture(params=[NameServer, Etcd, pytest.param(Consul, marks=with_consul)], ids=lambda method: method.method)
def server(request, tmp_path):
    made = request.param(tmp_path / request.param.method)
    yield made.start()
    made.stop()


def federation(tmp_path, authority, server, names=('node-a', 'node-b'), mode='encrypted', strangers=None, **settings):
    """node-a asks `server` where the others are, whose keys it has; nobody has an address in its configuration."""
    found = {**server.settings(), 'cluster.discovery_config.interval': 1, **{name.replace('__', '.'): value for name, value in settings.items()}}
    return Federation(tmp_path / 'nodes', authority, {name: [] for name in names}, mode=mode, changes={'node-a': found}, strangers=strangers)


def at(nodes, work, name='node-a'):
    return run(session(client_of(nodes[name]), work))


def answer_of(nodes, node):
    return at(nodes, lambda client: invoke(client, f'{node}.sql_query', sql='SELECT 7'))['structured']['rows']


def listed(nodes, name='node-a'):
    """The nodes whose tools are listed."""
    async def work(client):
        return {one['id'].split('.')[0] for one in await client.list_capabilities() if one['id'].startswith('node-')}

    return at(nodes, work, name)


def log_has(node, text):
    return until(lambda: text in node.log.read_text(), f'"{text}" in the log', WAIT)


def metric(node, name):
    text = urllib.request.urlopen(node.http_url + '/metrics', timeout=20).read().decode()
    return next(int(line.split()[1]) for line in text.splitlines() if line.startswith(name + ' '))


def test_a_node_is_found_and_one_that_comes_later_without_a_restart_and_one_that_leaves_is_gone(tmp_path, authority, server):
    keys = tmp_path / 'keys'
    keys.mkdir()
    nodes = federation(tmp_path, authority, server, ('node-a', 'node-b', 'node-c'), cluster__peer_keys_path=str(keys))
    # node-a learns of node-c by the key that is put into the folder, as it was told nothing of it when it began.
    nodes['node-a'].settings['cluster.peers'] = [one for one in nodes['node-a'].settings['cluster.peers'] if not one.startswith('node-c')]
    server.put('node-b', nodes['node-b'].url)
    try:
        nodes.start()
        assert answer_of(nodes, 'node-b') == [[7]]
        assert listed(nodes) == {'node-b'}
        shutil.copy(nodes.keys['node-c'][1], keys / 'node-c.pub')
        server.put('node-c', nodes['node-c'].url)
        assert answer_of(nodes, 'node-c') == [[7]]
        assert metric(nodes['node-a'], 'securetool_discovery_nodes') == 2
        server.take('node-b')
        until(lambda: listed(nodes) == {'node-c'}, 'node-b gone', WAIT)
        assert answer_of(nodes, 'node-c') == [[7]]
        server.put('node-b', nodes['node-b'].url)
        assert answer_of(nodes, 'node-b') == [[7]]
    finally:
        nodes.stop()


def test_a_server_that_is_away_leaves_the_last_known_nodes_for_a_bounded_time(tmp_path, authority, server):
    nodes = federation(tmp_path, authority, server, cluster__discovery_config__keep=3)
    server.put('node-b', nodes['node-b'].url)
    try:
        nodes.start()
        assert answer_of(nodes, 'node-b') == [[7]]
        server.stop()
        log_has(nodes['node-a'], 'no answer; the last known nodes stay')
        assert answer_of(nodes, 'node-b') == [[7]]
        assert metric(nodes['node-a'], 'securetool_discovery_up') == 0
        log_has(nodes['node-a'], 'the last answer is too old')
        until(lambda: listed(nodes) == set(), 'no node any more', WAIT)
        server.start()
        assert answer_of(nodes, 'node-b') == [[7]]
        assert metric(nodes['node-a'], 'securetool_discovery_up') == 1
    finally:
        nodes.stop()


@pytest.mark.parametrize('proves', [None, Signer('node-b')], ids=['by the secret', 'by a key of its own'])
def test_a_server_that_points_to_an_attacker(tmp_path, authority, server, proves):
    """The attacker has the shared secret, as every node does, and says that it is node-b; it has no key of node-b. It learns
    nothing: not even who calls."""
    nodes = federation(tmp_path, authority, server, mode='simple')
    node, port = nodes['node-a'], ports.any_free()
    secret = (node.secret('secret_key'), node.secret('kdf_salt'))
    attacker = FakeNode(Signer('node-b', secret), port, *secret, [record_of('sql.query')])
    attacker.proves = proves
    server.put('node-b', f'ws://127.0.0.1:{port}/scp/v3')
    try:
        nodes.start()
        until(lambda: attacker.links > 0, 'a call of node-a at the attacker', WAIT)
        log_has(node, 'federation: the node is not there')
        assert listed(nodes) == set() and not attacker.asked
        server.put('node-b', nodes['node-b'].url)
        assert answer_of(nodes, 'node-b') == [[7]]
        assert (attacker.shown, attacker.lists, attacker.asked) == ([], 0, [])
    finally:
        nodes.stop()
        attacker.stop()


def test_records_of_foreign_names_are_called_by_nobody(tmp_path, authority, server):
    """A node whose key is not known, this node itself, and a name that is none."""
    with listener() as heard:
        stranger = f'ws://127.0.0.1:{heard.port}/scp/v3'
        for name in ('node-z', 'node-a', 'sql', 'files', '9node'):
            server.put(name, stranger)
        nodes = federation(tmp_path, authority, server)
        try:
            nodes.start()
            log_has(nodes['node-a'], 'a node whose key is not known is not called')
            log_has(nodes['node-a'], 'discovery: an entry is left out')
            server.put('node-b', nodes['node-b'].url)
            assert answer_of(nodes, 'node-b') == [[7]]
            assert listed(nodes) == {'node-b'} and heard.count == 0
        finally:
            nodes.stop()


@contextlib.contextmanager
def listener():
    """Counts who connects."""
    class Heard:
        count = 0

    with socket.create_server(('127.0.0.1', 0)) as listening:
        Heard.port = listening.getsockname()[1]

        def accept():
            with contextlib.suppress(OSError):
                while True:
                    listening.accept()[0].close()
                    Heard.count += 1

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield Heard
        listening.shutdown(socket.SHUT_RDWR)
        thread.join(30)


def test_nodes_announce_themselves_and_find_each_other_and_a_killed_one_is_gone_within_its_lifetime(tmp_path, authority):
    registry = Etcd(tmp_path / 'etcd').start()
    nodes = federation(tmp_path, authority, registry)
    for node in nodes.nodes.values():
        node.settings |= {**registry.settings(), 'cluster.discovery_config.announce': node.url, 'cluster.discovery_config.lifetime': 3,
                          'cluster.discovery_config.interval': 1}
    try:
        nodes.start()
        assert answer_of(nodes, 'node-b') == [[7]]
        assert at(nodes, lambda client: invoke(client, 'node-a.sql_query', sql='SELECT 8'), 'node-b')['structured']['rows'] == [[8]]
        assert registry.keys() == {name: node.url for name, node in nodes.nodes.items()}
        nodes['node-b'].process.stop(first_signal=signal.SIGKILL)
        until(lambda: listed(nodes) == set(), 'the killed node gone', WAIT)
        nodes['node-b'].start()
        assert answer_of(nodes, 'node-b') == [[7]]
        nodes['node-b'].stop()  # In order: it takes itself out.
        assert set(registry.keys()) == {'node-a'}
    finally:
        nodes.stop()
        registry.stop()


def test_etcd_over_tls_with_a_password(tmp_path, authority):
    etcd = Etcd(tmp_path / 'etcd', authority=authority, password='Zx8vQ2-wn4Lr').start()
    nodes = federation(tmp_path, authority, etcd)
    etcd.put('node-b', nodes['node-b'].url)
    try:
        nodes.start()
        assert answer_of(nodes, 'node-b') == [[7]]
        nodes.stop()
        nodes['node-a'].settings['cluster.discovery_config.token'] = 'Zx8vQ2-wn4LrX'
        nodes['node-a'].log.unlink()
        nodes.start()
        log_has(nodes['node-a'], 'the registry does not log us in')
        assert listed(nodes) == set() and 'Zx8vQ2' not in nodes['node-a'].log.read_text()
    finally:
        nodes.stop()
        etcd.stop()


def test_a_registry_whose_certificate_is_not_trusted(tmp_path, authority):
    from tool_stack.authority import Authority
    etcd = Etcd(tmp_path / 'etcd', authority=Authority(tmp_path / 'others')).start()
    nodes = federation(tmp_path, authority, etcd)
    nodes['node-a'].settings['cluster.discovery_config.ca_cert_path'] = str(authority.roots)
    etcd.put('node-b', nodes['node-b'].url)
    try:
        nodes.start()
        log_has(nodes['node-a'], 'no answer; the last known nodes stay')
        assert listed(nodes) == set()
    finally:
        nodes.stop()
        etcd.stop()


class Liar:
    """A registry that answers every question with `answer(connection)`, which gives the bytes, piece by piece."""

    def __init__(self, answer):
        self.answer, self.asked = answer, 0
        self.listening = socket.create_server(('127.0.0.1', 0))
        self.port = self.listening.getsockname()[1]
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def settings(self):
        return {'cluster.discovery_method': 'consul', 'cluster.discovery_config.name': 'scp',
                'cluster.discovery_config.endpoint': f'http://127.0.0.1:{self.port}', 'cluster.discovery_config.keep': 600}

    def _run(self):
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self._serve, args=self.listening.accept()[:1], daemon=True).start()

    def _serve(self, connection):
        with connection, contextlib.suppress(OSError):
            connection.recv(65536)
            self.asked += 1
            for piece in self.answer(self):
                connection.sendall(piece)

    def stop(self):
        self.ended.set()
        self.listening.shutdown(socket.SHUT_RDWR)
        self.listening.close()
        self.thread.join(30)


def endless(liar):
    yield b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'
    while not liar.ended.is_set():
        yield b'10000\r\n' + b' ' * 0x10000 + b'\r\n'


def endless_head(liar):
    yield b'HTTP/1.1 200 OK\r\n'
    while not liar.ended.is_set():
        yield b'X-Filler: ' + b'x' * 1000 + b'\r\n'


def deep(_):
    body = b'[' * 100_000 + b']' * 100_000
    yield b'HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n' % len(body) + body


def elsewhere(_):
    yield b'HTTP/1.1 307 Go on\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n'


def crowd(_):
    one = b'{"Service":{"Meta":{"node_id":"n%d","endpoint":"wss://n.example:1"}}}'
    body = b'[' + b','.join(one % i for i in range(10_000)) + b']'
    yield b'HTTP/1.1 200 OK\r\nX-Consul-Index: 1\r\nContent-Length: %d\r\n\r\n' % len(body) + body


@pytest.mark.parametrize('answer, told', [(endless, 'no answer'), (endless_head, 'no answer'), (deep, 'no answer'), (elsewhere, 'no answer'),
                                          (crowd, 'more than 256 nodes')], ids=lambda one: getattr(one, '__name__', ''))
def test_huge_endless_and_broken_answers(tmp_path, authority, answer, told):
    liar = Liar(answer)
    nodes = federation(tmp_path, authority, liar, names=('node-a',))
    try:
        nodes.start()
        log_has(nodes['node-a'], told)
        until(lambda: liar.asked > 1, 'another question', WAIT)
        assert listed(nodes) == set()
        at(nodes, lambda client: client.invoke_tool('sql.query', sql='SELECT 1'))
        status = pathlib.Path(f'/proc/{nodes["node-a"].process.pid}/status').read_text()
        peak = next(int(line.split()[1]) for line in status.splitlines() if line.startswith('VmHWM'))
        assert peak < 600_000, 'an answer is held whole, however large'
    finally:
        nodes.stop()
        liar.stop()


def test_a_registry_that_hangs_costs_nobody_else(tmp_path, authority):
    def hang(liar):
        liar.ended.wait(WAIT)
        return []

    liar = Liar(hang)
    nodes = federation(tmp_path, authority, liar, names=('node-a',))
    try:
        nodes.start()
        until(lambda: liar.asked > 0, 'a question', WAIT)
        at(nodes, lambda client: client.invoke_tool('sql.query', sql='SELECT 1'))
        assert nodes['node-a'].process.alive()
        nodes.stop()  # One that waits for the registry would be killed.
        assert '"stopped"' in nodes['node-a'].log.read_text()
    finally:
        nodes.stop()
        liar.stop()


def test_a_certificate_is_for_the_name_that_the_record_gives_and_not_for_its_address(tmp_path, authority):
    dns = NameServer(tmp_path / 'dns').start()
    nodes = federation(tmp_path, authority, dns, ('node-a', 'node-b', 'node-c'), mode='basic')
    # That of node-c is for localhost and 127.0.0.1, where it is.
    nodes['node-b'].settings |= dict(zip(('server.tls_cert', 'server.tls_key'), map(str, authority.server('node-b', 'node-b.plant.test'))))
    for name in ('node-b', 'node-c'):
        dns.put(name, nodes[name].url)
    try:
        nodes.start()
        # The certificate of node-b is taken. Then it refuses its own name, as a service does that listens on this machine alone.
        log_has(nodes['node-a'], '"node":"node-b","reason":"no connection: the server does not speak WebSocket there: status 421"')
        log_has(nodes['node-a'], '"node":"node-c","reason":"no connection: the server\'s certificate is not trusted: hostname mismatch')
    finally:
        nodes.stop()
        dns.stop()


def test_peers_change_at_a_reload(tmp_path, authority):
    nodes = Federation(tmp_path / 'nodes', authority, {'node-a': ['node-b'], 'node-b': [], 'node-c': []})
    node = nodes['node-a']
    before = node.settings['cluster.peers']
    only_c = [f'node-c {nodes["node-c"].url} {nodes.keys["node-c"][1]}']
    try:
        nodes.start()
        assert answer_of(nodes, 'node-b') == [[7]]

        def reload(peers):
            node.settings['cluster.peers'] = peers
            node.write_config()
            os.kill(node.process.pid, signal.SIGHUP)

        reload(only_c)
        assert answer_of(nodes, 'node-c') == [[7]]
        until(lambda: listed(nodes) == {'node-c'}, 'node-b gone', WAIT)
        # One that cannot be used changes nothing.
        reload([*before, 'node-d ws://192.0.2.1:1'])
        log_has(node, 'the new configuration is refused')
        assert listed(nodes) == {'node-c'}
        reload(before)
        assert answer_of(nodes, 'node-b') == [[7]]
    finally:
        nodes.stop()


def test_keys_that_others_may_write_are_refused(tmp_path, authority):
    keys = tmp_path / 'keys'
    keys.mkdir()
    nodes = Federation(tmp_path / 'nodes', authority, {'node-a': [], 'node-b': []}, changes={'node-a': {'cluster.peer_keys_path': str(keys)}})
    node = nodes['node-a']
    assert node.run('config', 'check', check=False).returncode == 0
    keys.chmod(0o777)
    refused = node.run('config', 'check', check=False)
    assert refused.returncode == 2 and 'cluster.peer_keys_path' in refused.stdout + refused.stderr
    keys.chmod(0o755)
    shutil.copy(nodes.keys['node-b'][1], keys / 'node-c.pub')
    (keys / 'node-c.pub').chmod(0o666)
    started = node.run('serve', check=False)
    assert started.returncode == 1 and 'must not be open to be written by others' in started.stderr


def test_calls_under_way_end_when_their_node_is_gone_from_the_answer(tmp_path, authority):
    from test_federation import NAP
    etcd = Etcd(tmp_path / 'etcd').start()
    nodes = federation(tmp_path, authority, etcd)
    nodes['node-b'].settings |= NAP
    etcd.put('node-b', nodes['node-b'].url)

    async def work(client):
        await await_tools(client, ['node-b.tools_nap'])
        running = asyncio.create_task(client.invoke_tool('node-b.tools_nap', seconds='5'))
        await asyncio.to_thread(until, lambda: '"tools.nap"' in ''.join(one.read_text() for one in nodes['node-b'].audit.glob('audit-*')), 'the call', WAIT)
        await asyncio.to_thread(etcd.take, 'node-b')
        await asyncio.to_thread(until, lambda: listed(nodes) == set(), 'node-b gone', WAIT)
        assert not (await running)['is_error']
        with pytest.raises(Refused) as caught:
            await client.invoke_tool('node-b.tools_nap', seconds='0')
        return caught.value.code

    try:
        nodes.start()
        assert at(nodes, work) == 'E_TOOL'
    finally:
        nodes.stop()
        etcd.stop()
