"""Servers that know where nodes are: dnsmasq and etcd as processes. Each has the same face: put(), take(), start(), stop()."""
import base64
import json
import pathlib
import socket
import ssl
import urllib.request

from stack import ports, process

PATHS = {'PATH': '/usr/sbin:/usr/bin:/sbin:/bin'}


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


def text64(text):
    return base64.b64encode(text.encode()).decode()


def send(url, method, body, headers, authority):
    request = urllib.request.Request(url, None if body is None else json.dumps(body).encode(), {'Content-Type': 'application/json', **headers}, method=method)
    trust = ssl.create_default_context(cafile=str(authority.roots)) if authority else None
    with urllib.request.urlopen(request, timeout=20, context=trust) as answer:
        text = answer.read()
    return json.loads(text) if text.strip() else None
