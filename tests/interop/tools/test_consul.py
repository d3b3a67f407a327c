"""Nodes that are found by Consul: checks, waiting questions, rights. What it has in common with other servers is in test_discovery.py.

Consul is compiled by `./dev setup consul` (10 to 20 minutes, once). Without it its client is held against answers that are written from its
documentation, which shows less.
"""
import http.server
import json
import signal
import threading
import urllib.parse
import urllib.request

import pytest
from bridged import until
from federated import WAIT, invoke
from test_discovery import answer_of, at, federation, listed, log_has, metric, with_consul
from tool_stack.authority import Authority
from tool_stack.discovery_servers import Consul

TOKEN_SETTING = 'cluster.discovery_config.token'
# What docs/tools/discovery.md gives to a node that announces itself, and to one that does not.
WRITES = ('service "scp" { policy = "write" }', 'node_prefix "" { policy = "read" }')
READS = ('service "scp" { policy = "read" }', 'node_prefix "" { policy = "read" }')


@pytest.fixture
def consul(tmp_path):
    made = Consul(tmp_path / 'consul').start()
    yield made
    made.stop()


@pytest.fixture
def guarded(tmp_path):
    made = Consul(tmp_path / 'consul', acls=True).start()
    yield made
    made.stop()


def announces(nodes, registry, *names, **settings):
    for name in names:
        nodes[name].settings |= {**registry.settings(), 'cluster.discovery_config.announce': nodes[name].url, 'cluster.discovery_config.lifetime': 3,
                                 'cluster.discovery_config.interval': 1, **{key.replace('__', '.'): value for key, value in settings.items()}}


@with_consul
def test_nodes_announce_themselves_and_a_killed_one_is_gone_within_its_lifetime(tmp_path, authority, consul):
    nodes = federation(tmp_path, authority, consul)
    announces(nodes, consul, 'node-a', 'node-b')
    try:
        nodes.start()
        assert answer_of(nodes, 'node-b') == [[7]]
        assert at(nodes, lambda client: invoke(client, 'node-a.sql_query', sql='SELECT 8'), 'node-b')['structured']['rows'] == [[8]]
        assert consul.keys() == {name: node.url for name, node in nodes.nodes.items()}
        nodes['node-b'].process.stop(first_signal=signal.SIGKILL)
        until(lambda: listed(nodes) == set(), 'the killed node gone', WAIT)
        assert set(consul.keys()) == {'node-a'}
        nodes['node-b'].start()
        assert answer_of(nodes, 'node-b') == [[7]]
        nodes['node-b'].stop()  # In order: it takes itself out, check and all.
        assert [one['ServiceID'] for one in consul.ask('GET', '/v1/catalog/service/scp')] == ['scp-node-a']
    finally:
        nodes.stop()


@with_consul
def test_an_agent_that_lost_its_memory_is_told_again(tmp_path, authority, consul):
    nodes = federation(tmp_path, authority, consul)
    announces(nodes, consul, 'node-a', 'node-b')
    try:
        nodes.start()
        assert answer_of(nodes, 'node-b') == [[7]]
        consul.stop()
        consul.start()
        until(lambda: set(consul.keys()) == {'node-a', 'node-b'}, 'both registered again', WAIT)
        assert answer_of(nodes, 'node-b') == [[7]]
    finally:
        nodes.stop()


@with_consul
def test_a_node_counts_while_its_check_passes(tmp_path, authority, consul):
    nodes = federation(tmp_path, authority, consul, cluster__discovery_config__interval=60)
    consul.put_with_check('node-b', nodes['node-b'].url, 600)
    try:
        nodes.start()
        until(lambda: metric(nodes['node-a'], 'securetool_discovery_answers_total') > 0, 'an answer', WAIT)
        assert listed(nodes) == set()
        consul.set_check('node-b', 'pass')
        assert answer_of(nodes, 'node-b') == [[7]]
        consul.set_check('node-b', 'fail')
        until(lambda: listed(nodes) == set(), 'node-b gone', WAIT)
        consul.set_check('node-b', 'pass')
        assert answer_of(nodes, 'node-b') == [[7]]
        # From here on nobody renews it.
        consul.put_with_check('node-b', nodes['node-b'].url, 1)
        consul.set_check('node-b', 'pass')
        until(lambda: listed(nodes) == set(), 'node-b gone', WAIT)
    finally:
        nodes.stop()


@with_consul
def test_a_change_is_seen_at_once_and_asked_for_twice(tmp_path, authority, consul):
    """One question waits and one reads: neither time nor a loop of questions finds it."""
    nodes = federation(tmp_path, authority, consul, ('node-a',), cluster__discovery_config__interval=300)
    node = nodes['node-a']
    try:
        nodes.start()
        for count in range(1, 5):
            consul.put(f'node-{count}', f'ws://127.0.0.1:{count}/scp/v3')
            until(lambda: metric(node, 'securetool_discovery_nodes') == count, 'the new node', WAIT)
        asked = [line for line in consul.log.read_text().splitlines() if 'Request finished' in line and '/v1/health/service/scp?' in line]
        waited = [line for line in asked if '&index=' in line]
        # A registration may be two changes to Consul.
        assert 3 <= len(waited) <= 9 and len(asked) <= 2 * len(waited) + 1, asked
        # Consul waits up to a sixteenth longer than it is asked to: 299 s at most.
        assert all('wait=281s' in line for line in waited), waited
        assert metric(node, 'securetool_discovery_failures_total') == 0
    finally:
        nodes.stop()


class Balancer:
    """Passes each request on to `target`, the one of now, and asks that again when it has gone meanwhile: who asks sees no break."""

    def __init__(self, target):
        self.target, self.asked, self.ended = target, [], False
        balancer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'

            def do_GET(self):
                while not balancer.ended:
                    balancer.asked.append(self.path)
                    try:
                        with urllib.request.urlopen(balancer.target.url + self.path, timeout=400) as answer:
                            index, text = answer.headers['X-Consul-Index'], answer.read()
                        break
                    except OSError:
                        continue  # Refused, cut off, or the error of one that goes.
                else:
                    return
                self.send_response(200)
                self.send_header('X-Consul-Index', index)
                self.send_header('Content-Length', str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def index_asked_from(self):
        """By the last question that waits."""
        return next((int(one.split('index=')[1].split('&')[0]) for one in reversed(self.asked) if 'index=' in one), 0)

    def stop(self):
        self.ended = True
        self.server.shutdown()
        self.server.server_close()
        self.thread.join(30)


@with_consul
def test_an_index_that_goes_back_without_a_break_is_asked_from_once(tmp_path, authority, consul):
    other = Consul(tmp_path / 'other').start()
    balancer = Balancer(consul)
    nodes = federation(tmp_path, authority, consul, ('node-a', 'node-b', 'node-c'), cluster__discovery_config__interval=2,
                       cluster__discovery_config__endpoint=f'http://127.0.0.1:{balancer.server.server_port}')
    for count in range(100):  # So the other's history is far behind.
        consul.ask('PUT', '/v1/kv/some', {'count': count})
    consul.put('node-b', nodes['node-b'].url)
    other.put('node-c', nodes['node-c'].url)
    try:
        nodes.start()
        assert answer_of(nodes, 'node-b') == [[7]]
        until(lambda: balancer.index_asked_from() > 100, 'a question that waits', WAIT)
        balancer.target = other
        consul.stop()
        assert answer_of(nodes, 'node-c') == [[7]]
        until(lambda: listed(nodes) == {'node-c'}, 'node-b gone', WAIT)
        until(lambda: 0 < balancer.index_asked_from() < 100, 'a question from the new index', WAIT)
        other.put('node-b', nodes['node-b'].url)
        assert answer_of(nodes, 'node-b') == [[7]]
        assert metric(nodes['node-a'], 'securetool_discovery_failures_total') == 0
    finally:
        nodes.stop()
        other.stop()
        balancer.stop()


@with_consul
def test_a_wrong_address_is_tried_again(tmp_path, authority):
    later = Consul(tmp_path / 'consul')
    nodes = federation(tmp_path, authority, later)
    later.put('node-b', nodes['node-b'].url)
    try:
        nodes.start()
        log_has(nodes['node-a'], 'no answer; the last known nodes stay')
        until(lambda: metric(nodes['node-a'], 'securetool_discovery_failures_total') > 2, 'further tries', WAIT)
        assert metric(nodes['node-a'], 'securetool_discovery_failures_total') < 20 and listed(nodes) == set()
        later.start()
        assert answer_of(nodes, 'node-b') == [[7]]
        assert metric(nodes['node-a'], 'securetool_discovery_up') == 1
    finally:
        nodes.stop()
        later.stop()


@with_consul
def test_over_tls_with_tokens_of_just_these_rights(tmp_path, authority):
    consul = Consul(tmp_path / 'consul', authority=authority, acls=True).start()
    token = consul.make_token('writes', *WRITES)
    nodes = federation(tmp_path, authority, consul)
    announces(nodes, consul, 'node-a', 'node-b', cluster__discovery_config__token=token)
    try:
        nodes.start()
        assert answer_of(nodes, 'node-b') == [[7]]
        assert set(consul.keys()) == {'node-a', 'node-b'}
        nodes['node-b'].stop()
        until(lambda: listed(nodes) == set(), 'node-b gone', WAIT)
        logs = ''.join(node.log.read_text() for node in nodes.nodes.values())
        assert token not in logs and 'discovery: this node' not in logs and 'discovery: no answer' not in logs
    finally:
        nodes.stop()
        consul.stop()


@with_consul
def test_a_consul_whose_certificate_is_not_trusted(tmp_path, authority):
    consul = Consul(tmp_path / 'consul', authority=Authority(tmp_path / 'others')).start()
    nodes = federation(tmp_path, authority, consul, cluster__discovery_config__ca_cert_path=str(authority.roots))
    consul.put('node-b', nodes['node-b'].url)
    try:
        nodes.start()
        log_has(nodes['node-a'], 'TLS handshake failed: certificate verify failed')
        assert listed(nodes) == set()
    finally:
        nodes.stop()
        consul.stop()


# What each is told that may not read: none has a right to anything but the last, who may see the service and no machine.
@with_consul
@pytest.mark.parametrize('token, told', [('none', 'the registry shows us nothing without a token: '), ('unknown', 'the registry refuses our credential, '),
                                         ('no rights', 'the registry hides instances from us: '), ('no machine', 'the registry hides instances from us: ')])
def test_who_may_not_read_is_told_so(tmp_path, authority, guarded, token, told):
    given = {'none': lambda: None, 'unknown': lambda: '9f1c7a52-7d0b-4a5e-8a93-2f0c4f1d6b7e', 'no rights': lambda: guarded.make_token('nothing', ''),
             'no machine': lambda: guarded.make_token('some', READS[0])}[token]()
    nodes = federation(tmp_path, authority, guarded, cluster__discovery_config__token=given)
    guarded.put('node-b', nodes['node-b'].url)
    node = nodes['node-a']
    try:
        nodes.start()
        log_has(node, told)
        assert TOKEN_SETTING in node.log.read_text() and metric(node, 'securetool_discovery_up') == 0
        assert listed(nodes) == set() and str(given) not in node.log.read_text()
        node.stop()
        node.settings[TOKEN_SETTING] = guarded.make_token('reads', *READS)
        node.start()
        assert answer_of(nodes, 'node-b') == [[7]]
    finally:
        nodes.stop()


@with_consul
@pytest.mark.parametrize('way', ['its rights', 'the token'])
def test_rights_that_are_taken_away_take_no_node_away_and_are_told(tmp_path, authority, guarded, way):
    """Waits for 15 s, in which the nodes are kept: long enough for a call on a machine that is busy."""
    token = guarded.make_token('reads', *READS)
    nodes = federation(tmp_path, authority, guarded, cluster__discovery_config__token=token, cluster__discovery_config__keep=15)
    guarded.put('node-b', nodes['node-b'].url)
    node = nodes['node-a']
    try:
        nodes.start()
        assert answer_of(nodes, 'node-b') == [[7]]
        if way == 'the token':
            guarded.drop_token(token)
        else:
            guarded.set_rules('reads', '')
        log_has(node, 'no answer; the last known nodes stay')
        assert answer_of(nodes, 'node-b') == [[7]] and TOKEN_SETTING in node.log.read_text()
        log_has(node, 'the last answer is too old')
        until(lambda: listed(nodes) == set(), 'no node any more', WAIT)
        if way == 'its rights':
            guarded.set_rules('reads', *READS)
            assert answer_of(nodes, 'node-b') == [[7]]
    finally:
        nodes.stop()


@with_consul
def test_a_part_that_is_hidden_stays_for_a_bounded_time(tmp_path, authority, guarded):
    """Waits for 20 s, in which the hidden node is kept."""
    token = guarded.make_token('reads', *READS)
    nodes = federation(tmp_path, authority, guarded, ('node-a', 'node-b', 'node-c', 'node-x'), cluster__discovery_config__token=token,
                       cluster__discovery_config__keep=20)
    guarded.put('node-b', nodes['node-b'].url)
    elsewhere = {'ID': 'scp-node-c', 'Service': 'scp', 'Address': '127.0.0.1', 'Port': nodes['node-c'].port,
                 'Meta': {'node_id': 'node-c', 'endpoint': nodes['node-c'].url}}
    guarded.ask('PUT', '/v1/catalog/register', {'Node': 'machine-2', 'Address': '127.0.0.2', 'Service': elsewhere})
    node = nodes['node-a']
    try:
        nodes.start()
        assert answer_of(nodes, 'node-c') == [[7]]
        guarded.set_rules('reads', READS[0], f'node "{guarded.machine}" {{ policy = "read" }}')
        log_has(node, 'discovery: the answer is not whole; nodes that it does not name stay')
        assert TOKEN_SETTING in node.log.read_text() and metric(node, 'securetool_discovery_partial') == 1
        guarded.put('node-x', nodes['node-x'].url)
        assert answer_of(nodes, 'node-x') == [[7]]
        assert listed(nodes) == {'node-b', 'node-c', 'node-x'}
        log_has(node, 'discovery: nodes that the server has not named for long are given up')
        until(lambda: listed(nodes) == {'node-b', 'node-x'}, 'node-c gone', WAIT)
        guarded.set_rules('reads', *READS)
        assert answer_of(nodes, 'node-c') == [[7]]
        assert metric(node, 'securetool_discovery_partial') == 0
    finally:
        nodes.stop()


@with_consul
def test_who_may_not_write_is_not_announced_and_finds_the_others(tmp_path, authority, guarded):
    nodes = federation(tmp_path, authority, guarded)
    announces(nodes, guarded, 'node-a', cluster__discovery_config__token=guarded.make_token('reads', *READS))
    guarded.put('node-b', nodes['node-b'].url)
    try:
        nodes.start()
        assert answer_of(nodes, 'node-b') == [[7]]
        log_has(nodes['node-a'], 'discovery: this node could not be announced')
        assert TOKEN_SETTING in nodes['node-a'].log.read_text() and set(guarded.keys()) == {'node-b'}
    finally:
        nodes.stop()


class AgentByTheBook:
    """What the documentation of Consul 1.22 writes of three calls: the health of a service, with its index, which waits; the registration
    of one; its check. And what Consul 1.22 does: an answer that waited does not say that it was filtered; to a client without a token none does."""

    def __init__(self):
        self.instances, self.passing, self.index, self.asked, self.changed = {}, set(), 10, [], threading.Condition()
        self.hides = False
        agent = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'

            def answer(self, text=b'', status=200, filtered=False):
                self.send_response(status)
                if filtered:
                    self.send_header('X-Consul-Results-Filtered-By-ACLs', 'true')
                self.send_header('X-Consul-Index', str(agent.index))
                self.send_header('Content-Length', str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def do_GET(self):
                path = urllib.parse.urlsplit(self.path)
                given = dict(urllib.parse.parse_qsl(path.query))
                with agent.changed:
                    agent.asked.append((path.path, 'index' in given, self.headers['X-Consul-Token']))
                    if path.path.startswith('/v1/health/connect/'):
                        return self.answer(b'[]', 403 if agent.hides else 200)
                    agent.changed.wait_for(lambda: agent.index > int(given.get('index', 0)), int(given.get('wait', '0s')[:-1]))
                    shown = [] if agent.hides else [agent.entry(one) for name, one in agent.instances.items() if name in agent.passing]
                    return self.answer(json.dumps(shown).encode(), filtered=agent.hides and 'index' not in given and bool(self.headers['X-Consul-Token']))

            def do_PUT(self):
                text = self.rfile.read(int(self.headers['Content-Length'] or 0))
                path = self.path.split('?')[0]
                with agent.changed:
                    agent.asked.append((path, False, self.headers['X-Consul-Token']))
                    if path == '/v1/agent/service/register':
                        agent.put(json.loads(text))
                    elif path.startswith('/v1/agent/service/deregister/'):
                        agent.take(path.split('/')[-1])
                    elif path.startswith('/v1/agent/check/pass/service:'):
                        agent.let_pass(path.split(':')[-1])
                    self.answer()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def settings(self):
        return {'cluster.discovery_method': 'consul', 'cluster.discovery_config.name': 'scp', 'cluster.discovery_config.token': 'Qm4-token',
                'cluster.discovery_config.endpoint': f'http://127.0.0.1:{self.server.server_port}'}

    @staticmethod
    def entry(instance):
        service = {'ID': instance['ID'], 'Service': instance['Name'], 'Tags': [], **{name: instance[name] for name in ('Address', 'Meta', 'Port')}}
        return {'Node': {'Node': 'machine', 'Address': '192.0.2.9'}, 'Service': service,
                'Checks': [{'CheckID': f'service:{instance["ID"]}', 'Status': 'passing'}]}

    def put(self, instance):
        """Its check does not pass until it is told to."""
        self.instances[instance['ID']] = instance
        self.tell()

    def let_pass(self, name):
        if name not in self.passing:
            self.passing.add(name)
            self.tell()

    def take(self, name):
        self.passing.discard(name)
        del self.instances[name]
        self.tell()

    def tell(self):
        with self.changed:
            self.index += 1
            self.changed.notify_all()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join(30)


def test_answers_of_consul_as_its_documentation_writes_them(tmp_path, authority):
    agent = AgentByTheBook()
    nodes = federation(tmp_path, authority, agent)
    nodes['node-b'].settings |= {**agent.settings(), 'cluster.discovery_config.announce': nodes['node-b'].url, 'cluster.discovery_config.lifetime': 3}
    try:
        nodes.start()
        assert answer_of(nodes, 'node-b') == [[7]]
        (instance,) = agent.instances.values()
        assert instance['Name'] == 'scp' and instance['Meta'] == {'node_id': 'node-b', 'endpoint': nodes['node-b'].url} and instance['Check']['TTL'] == '3s'
        nodes['node-b'].stop()  # In order: it takes itself out.
        assert not agent.instances
        until(lambda: listed(nodes) == set(), 'node-b gone', WAIT)
        assert {('/v1/health/service/scp', False), ('/v1/health/service/scp', True), ('/v1/agent/check/pass/service:scp-node-b', False)} <= {
            one[:2] for one in agent.asked}
        assert {one[2] for one in agent.asked} == {'Qm4-token'}
    finally:
        nodes.stop()
        agent.stop()


@pytest.mark.parametrize('with_token', [True, False])
def test_an_answer_that_hides_all_takes_no_node_away(tmp_path, authority, with_token):
    agent = AgentByTheBook()
    nodes = federation(tmp_path, authority, agent)
    if not with_token:
        nodes['node-a'].settings.pop(TOKEN_SETTING)
    agent.put({'ID': 'scp-node-b', 'Name': 'scp', 'Address': '127.0.0.1', 'Port': nodes['node-b'].port, 'Meta': {'node_id': 'node-b', 'endpoint': nodes['node-b'].url}})
    agent.let_pass('scp-node-b')
    node = nodes['node-a']
    try:
        nodes.start()
        assert answer_of(nodes, 'node-b') == [[7]]
        agent.hides = True
        agent.tell()
        log_has(node, 'the registry hides instances from us: ' if with_token else 'the registry shows us nothing without a token: ')
        assert TOKEN_SETTING in node.log.read_text() and metric(node, 'securetool_discovery_up') == 0
        assert answer_of(nodes, 'node-b') == [[7]]
        agent.instances.clear()
        agent.hides = False
        agent.tell()
        until(lambda: listed(nodes) == set(), 'node-b gone', WAIT)
    finally:
        nodes.stop()
        agent.stop()
