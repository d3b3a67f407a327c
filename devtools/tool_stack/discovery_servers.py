"""Servers that know where nodes are: dnsmasq, etcd and Consul as processes. Each has the same face: put(), take(), start(), stop()."""
import base64
import json
import pathlib
import socket
import ssl
import urllib.request
import uuid

from stack import ports, process

PATHS = {'PATH': '/usr/sbin:/usr/bin:/sbin:/bin'}
CONSUL = pathlib.Path(__file__).resolve().parents[2] / '.dev/tools/consul'  # By ./dev setup consul.


class NameServer:
    """SRV records of `name`, whose targets are this machine, unless put() says where else."""
    method = 'dns'

    def __init__(self, folder, name='_scp._tcp.plant.test', ttl=1):
        self.folder, self.name, self.ttl = pathlib.Path(folder), name, ttl
        self.folder.mkdir(parents=True, exist_ok=True)
        self.port = ports.any_free()
        self.log = self.folder / 'log'
        self.nodes, self.lines, self.process = {}, [], None

    def settings(self):
        return {'cluster.discovery_method': 'dns', 'cluster.discovery_config.name': self.name,
                'cluster.discovery_config.endpoint': f'dns://127.0.0.1:{self.port}'}

    def start(self):
        (self.folder / 'conf').write_text('\n'.join([*self._records(), *self.lines]) + '\n')
        self.process = process.start(
            ['dnsmasq', '--keep-in-foreground', '--log-facility=-', '--no-resolv', '--no-hosts', '--bind-interfaces', '--listen-address=127.0.0.1',
             f'--port={self.port}', f'--local-ttl={self.ttl}', f'--conf-file={self.folder / "conf"}', f'--pid-file={self.folder / "pid"}', '--user=root'],
            self.log, env=PATHS, cwd=self.folder)
        process.wait_ready('the name server', self.process, self.log, self._answers, 20)
        return self

    def stop(self):
        if self.process:
            self.process.stop()
            self.process = None

    def put(self, node, url, address='127.0.0.1'):
        self.nodes[node] = (int(url.split(':')[2].split('/')[0]), address)
        self._renew()

    def take(self, node):
        self.nodes.pop(node)
        self._renew()

    def add_lines(self, *lines):
        """Further lines of dnsmasq's configuration."""
        self.lines += lines
        self._renew()

    def _renew(self):
        if self.process:  # It reads its records once.
            self.stop()
            self.start()

    def _records(self):
        domain = self.name.split('.', 2)[2]
        yield f'local=/{domain}/'
        for node, (port, address) in self.nodes.items():
            yield f'srv-host={self.name},{node}.{domain},{port},10,50'
            yield f'host-record={node}.{domain},{address}'

    def _answers(self):
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            probe.settimeout(1)
            return probe.connect_ex(('127.0.0.1', self.port)) == 0


class Etcd:
    """Keys below `prefix`. With `authority` over TLS; with `password` for the user root alone."""
    method = 'etcd'

    def __init__(self, folder, prefix='scp/', authority=None, password=None):
        self.folder, self.prefix, self.authority, self.password = pathlib.Path(folder), prefix, authority, password
        self.folder.mkdir(parents=True, exist_ok=True)
        self.port, self.peer_port = ports.any_free(), ports.any_free()
        self.scheme = 'https' if authority else 'http'
        self.url = f'{self.scheme}://127.0.0.1:{self.port}'
        self.log = self.folder / 'log'
        self.process, self.token = None, None

    def settings(self):
        found = {'cluster.discovery_method': 'etcd', 'cluster.discovery_config.endpoint': self.url, 'cluster.discovery_config.prefix': self.prefix}
        if self.authority:
            found['cluster.discovery_config.ca_cert_path'] = str(self.authority.roots)
        if self.password:
            found |= {'cluster.discovery_config.user': 'root', 'cluster.discovery_config.token': self.password}
        return found

    def start(self):
        peer = f'http://127.0.0.1:{self.peer_port}'
        command = ['etcd', '--data-dir', self.folder / 'data', '--listen-client-urls', self.url, '--advertise-client-urls', self.url,
                   '--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer, '--initial-cluster', f'default={peer}', '--log-level', 'error']
        if self.authority:
            certificate, key = self.authority.server('etcd')
            command += ['--cert-file', certificate, '--key-file', key]
        fresh = not (self.folder / 'data').exists()
        self.process = process.start([str(word) for word in command], self.log, env=PATHS, cwd=self.folder)
        process.wait_ready('etcd', self.process, self.log, self._is_healthy, 30)
        if self.password and fresh:
            self.ask('/v3/auth/user/add', name='root', password=self.password)
            self.ask('/v3/auth/user/grant', user='root', role='root')
            self.ask('/v3/auth/enable')
        if self.password:
            self.token = self.ask('/v3/auth/authenticate', name='root', password=self.password)['token']
        return self

    def stop(self):
        if self.process:
            self.process.stop()
            self.process = None

    def put(self, node, url):
        self.put_value(node, json.dumps({'endpoint': url}))

    def put_value(self, node, value):
        self.ask('/v3/kv/put', key=text64(self.prefix + node), value=text64(value))

    def take(self, node):
        self.ask('/v3/kv/deleterange', key=text64(self.prefix + node))

    def keys(self):
        """The address of each node that is there."""
        end = self.prefix[:-1] + chr(ord(self.prefix[-1]) + 1)
        found = self.ask('/v3/kv/range', key=text64(self.prefix), range_end=text64(end)).get('kvs', [])
        return {base64.b64decode(one['key']).decode().removeprefix(self.prefix): json.loads(base64.b64decode(one['value']))['endpoint'] for one in found}

    def ask(self, path, **body):
        return send(self.url + path, 'POST', body, {'Authorization': self.token} if self.token else {}, self.authority)

    def _is_healthy(self):
        try:
            return send(self.url + '/health', 'GET', None, {}, self.authority).get('health') == 'true'
        except OSError:
            return False


class Consul:
    """Instances of the service `service`, in the memory of one server: it begins anew at each start, but for what was put. With
    `authority` over TLS alone; with `acls` it refuses what no token allows, and `secret` is the token for everything."""
    method = 'consul'
    machine = 'machine-1'

    def __init__(self, folder, service='scp', authority=None, acls=False):
        self.folder, self.service, self.authority = pathlib.Path(folder), service, authority
        self.folder.mkdir(parents=True, exist_ok=True)
        self.port = ports.any_free()
        self.url = f'{"https" if authority else "http"}://127.0.0.1:{self.port}'
        self.secret = str(uuid.uuid4()) if acls else None
        self.log = self.folder / 'log'
        self.nodes, self.process = {}, None

    def settings(self):
        found = {'cluster.discovery_method': 'consul', 'cluster.discovery_config.endpoint': self.url, 'cluster.discovery_config.name': self.service}
        if self.authority:
            found['cluster.discovery_config.ca_cert_path'] = str(self.authority.roots)
        if self.secret:
            found['cluster.discovery_config.token'] = self.secret
        return found

    def start(self):
        (self.folder / 'conf.json').write_text(json.dumps(self._configuration()))
        self.process = process.start([CONSUL, 'agent', '-dev', f'-config-file={self.folder / "conf.json"}'], self.log, env={**PATHS, 'HOME': str(self.folder)},
                                     cwd=self.folder)
        # It has a leader, who has found its own machine well.
        process.wait_ready('Consul', self.process, self.log, lambda: self._quietly(self.instances, 'consul'), 60)
        for node, url in self.nodes.items():
            self.put(node, url)
        return self

    def stop(self):
        if self.process:
            self.process.stop()
            self.process = None

    def put(self, node, url, **more):
        """An instance without a check, unless `more` has one."""
        if 'Check' not in more:
            self.nodes[node] = url
        if self.process:
            host, port = url.split('/')[2].split(':')
            self.ask('PUT', '/v1/agent/service/register', {'ID': f'scp-{node}', 'Name': self.service, 'Address': host, 'Port': int(port),
                                                           'Meta': {'node_id': node, 'endpoint': url}, **more})

    def put_with_check(self, node, url, seconds):
        """Its check is critical until it is set, and when that was `seconds` ago."""
        self.put(node, url, Check={'TTL': f'{seconds}s'})

    def set_check(self, node, state):
        """`state`: pass, warn or fail."""
        self.ask('PUT', f'/v1/agent/check/{state}/service:scp-{node}')

    def take(self, node):
        self.nodes.pop(node, None)
        self.ask('PUT', f'/v1/agent/service/deregister/scp-{node}')

    def keys(self):
        """The address of each node that passes its checks."""
        return {one['Service']['Meta']['node_id']: one['Service']['Meta']['endpoint'] for one in self.instances(self.service)}

    def instances(self, service):
        return self.ask('GET', f'/v1/health/service/{service}?passing=true')

    def make_token(self, name, *rules):
        """The secret of a new token, which has the rules of its own policy `name`; set_rules() changes them."""
        self.ask('PUT', '/v1/acl/policy', {'Name': name, 'Rules': '\n'.join(rules)})
        return self.ask('PUT', '/v1/acl/token', {'Policies': [{'Name': name}]})['SecretID']

    def set_rules(self, name, *rules):
        policy = self.ask('GET', f'/v1/acl/policy/name/{name}')
        self.ask('PUT', f'/v1/acl/policy/{policy["ID"]}', {'Name': name, 'Rules': '\n'.join(rules)})

    def drop_token(self, secret):
        accessor = self.ask('GET', '/v1/acl/token/self', token=secret)['AccessorID']
        self.ask('DELETE', f'/v1/acl/token/{accessor}')

    def ask(self, method, path, body=None, token=None):
        token = token or self.secret
        return send(self.url + path, method, body, {'X-Consul-Token': token} if token else {}, self.authority)

    def _configuration(self):
        taken = {'https' if self.authority else 'http': self.port, 'server': ports.any_free(), 'serf_lan': ports.any_free()}
        off = dict.fromkeys(('http', 'https', 'dns', 'grpc', 'grpc_tls', 'serf_wan'), -1)
        found = {'node_name': self.machine, 'bind_addr': '127.0.0.1', 'client_addr': '127.0.0.1', 'ports': {**off, **taken}, 'log_level': 'debug',
                 'disable_update_check': True, 'connect': {'enabled': False}, 'leave_on_terminate': False}
        if self.authority:
            certificate, key = self.authority.server('consul')
            found['tls'] = {'https': {'ca_file': str(self.authority.roots), 'cert_file': str(certificate), 'key_file': str(key), 'verify_incoming': False}}
        if self.secret:
            found['acl'] = {'enabled': True, 'default_policy': 'deny', 'tokens': {'initial_management': self.secret, 'agent': self.secret}}
        return found

    @staticmethod
    def _quietly(question, *arguments):
        try:
            return question(*arguments)
        except (OSError, ValueError):
            return None


def text64(text):
    return base64.b64encode(text.encode()).decode()


def send(url, method, body, headers, authority):
    request = urllib.request.Request(url, None if body is None else json.dumps(body).encode(), {'Content-Type': 'application/json', **headers}, method=method)
    trust = ssl.create_default_context(cafile=str(authority.roots)) if authority else None
    with urllib.request.urlopen(request, timeout=20, context=trust) as answer:
        text = answer.read()
    return json.loads(text) if text.strip() else None
