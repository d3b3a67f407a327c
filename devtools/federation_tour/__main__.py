"""Three nodes that find each other in three ways, call each other's tools, lose one, and do not believe an attacker."""
import asyncio
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'clients/python'))

from scp import Client, Refused  # noqa: E402
from tool_stack.authority import Authority  # noqa: E402
from tool_stack.discovery_servers import Etcd, NameServer  # noqa: E402
from tool_stack.service import BINARY, ToolService, strong  # noqa: E402
from tour.show import say  # noqa: E402

FOLDER = ROOT / '.dev/federation_tour'
NAMES = ('node-a', 'node-b', 'node-c')
SCOPES = ['cap:list', *(f'tool:invoke:{name}.*' for name in ('sql', *NAMES))]
PATIENCE = 60


def until(condition, what):
    end = time.monotonic() + PATIENCE
    while not (found := condition()):
        if time.monotonic() > end:
            raise SystemExit(f'not within {PATIENCE} s: {what}')
        time.sleep(0.1)
    return found


class Tour:
    def __init__(self, folder):
        self.folder = folder
        self.authority = Authority(folder / 'authority')
        self.keys = folder / 'keys'
        self.keys.mkdir(parents=True)
        self.dns, self.etcd = NameServer(folder / 'dns'), Etcd(folder / 'etcd')
        self.shared = {'secret_key': strong(), 'jwt_secret': strong(), 'kdf_salt': strong(24), 'api_key': strong(), 'cluster.name': 'plant',
                       'security.api_key_scopes': ','.join(SCOPES), 'cluster.peer_scopes': ','.join(SCOPES), 'cluster.peer_keys_path': str(self.keys),
                       'cluster.discovery_config.interval': 1}
        self.nodes = {name: self.node(name) for name in NAMES}

    def node(self, name, folder=None, key=None):
        if key is None:
            key = self.folder / name
            subprocess.run([BINARY, 'keygen', 'ed25519', '--out', str(key)], check=True, capture_output=True, timeout=60)
            (self.keys / f'{name}.pub').write_bytes(key.with_suffix('.pub').read_bytes())
        off = {f'connectors.files.{one}': None for one in ('enabled', 'root', 'extensions', 'allow_write')}
        return ToolService(self.folder / (folder or f'service-{name}'), 'encrypted', self.authority, binary=BINARY, changes={
            **self.shared, **off, 'node_id': name, 'security.proof_signing_key_path': f'{key}.key'})

    def start(self):
        for server in (self.dns, self.etcd):
            server.start()
        a, b, c = self.nodes.values()
        a.settings |= self.dns.settings()
        b.settings |= {**self.etcd.settings(), 'cluster.discovery_config.announce': b.url, 'cluster.discovery_config.lifetime': 3}
        c.settings['cluster.peers'] = [f'{name} {self.nodes[name].url} {self.keys / name}.pub' for name in ('node-a', 'node-b')]
        for name, node in self.nodes.items():
            self.dns.put(name, node.url)
        for name in ('node-a', 'node-c'):  # node-b announces itself.
            self.etcd.put(name, self.nodes[name].url)
        for node in self.nodes.values():
            node.start()

    def stop(self):
        for node in self.nodes.values():
            node.stop()
        for server in (self.dns, self.etcd):
            server.stop()

    def ask(self, name, work):
        async def ask():
            node = self.nodes[name]
            client = Client(node.url, node.mode, **{one: node.secret(one) for one in ('secret_key', 'kdf_salt', 'api_key')})
            await client.connect()
            try:
                return await work(client)
            finally:
                await client.disconnect()

        return asyncio.run(ask())

    def tools(self, name):
        async def work(client):
            return {one['id'] for one in await client.list_capabilities()}

        return self.ask(name, work)

    def await_tools(self, name, *tools):
        until(lambda: set(tools) <= self.tools(name), f'{" ".join(tools)} at {name}')

    def call(self, name, tool, sql):
        self.await_tools(name, tool)

        async def work(client):
            return await client.invoke_tool(tool, sql=sql)

        answer = self.ask(name, work)
        print(f'  {name}> {tool} {sql}\n    {answer["structured"]["rows"]}')
        return answer

    # The steps, in their order.

    def show_ways(self):
        for name, where in (('node-a', f'asks SRV records of {self.dns.name} at port {self.dns.port}'),
                            ('node-b', f'asks etcd below {self.etcd.prefix} at {self.etcd.url}'), ('node-c', 'has their addresses in its configuration')):
            print(f'  {name} {where}')
        for name in NAMES:
            others = [one for one in NAMES if one != name]
            self.await_tools(name, *(f'{one}.sql_query' for one in others))
            print(f'  {name} found {" ".join(others)}')

    def show_calls(self):
        for name, other in (('node-a', 'node-b'), ('node-b', 'node-c'), ('node-c', 'node-a')):
            self.call(name, f'{other}.sql_query', f"SELECT 'a row of {other}'")
        answer = self.call('node-a', 'node-b.node-c_sql_query', "SELECT 'by node-b, of node-c'")
        for name in NAMES:
            for line in (json.loads(line) for file in sorted(self.nodes[name].audit.glob('audit-*')) for line in file.read_text().splitlines()):
                if line['kind'] == 'seal' and line['rid'] == answer['audit'].get('rid', line['rid']) and 'way' in line and ' ' in str(line['way']):
                    print(f'    the trail of {name}: {line["principal"]["sub"]} of {line["principal"]["iss"]} called {line["tool"]} by {line["way"]}')

    def show_a_node_that_dies(self):
        self.nodes['node-b'].process.stop(first_signal=signal.SIGKILL)
        until(lambda: 'node-b' not in self.etcd.keys(), 'the end of the lease')
        print('  node-b is killed; its lease in etcd has ended')
        self.dns.take('node-b')
        until(lambda: not any(one.startswith('node-b.') for one in self.tools('node-a')), 'node-b gone at node-a')
        print('  its record is taken out: node-a no longer lists its tools')

    def show_an_attacker(self):
        key = self.folder / 'attacker'
        subprocess.run([BINARY, 'keygen', 'ed25519', '--out', str(key)], check=True, capture_output=True, timeout=60)
        attacker = self.node('node-b', 'service-attacker', key)
        self.nodes['attacker'] = attacker
        attacker.start()
        log = self.nodes['node-a'].log
        before = len(log.read_text().splitlines())
        self.dns.put('node-b', attacker.url)
        print('  the record of node-b points to a service that has every shared secret, and another key')
        line = until(lambda: next((one for one in log.read_text().splitlines()[before:] if 'the node is not there' in one), None),
                     'a word of node-a on the attacker')
        print(f'    node-a: {json.loads(line)["reason"]}')
        if any(one.startswith('node-b.') for one in self.tools('node-a')):
            raise SystemExit('the attacker was believed')
        print('    node-a lists no tool of it')
        attacker.stop()
        self.nodes['node-b'].start()
        self.dns.put('node-b', self.nodes['node-b'].url)
        self.call('node-a', 'node-b.sql_query', "SELECT 'node-b is back'")

    def show_a_server_that_is_away(self):
        self.dns.stop()
        until(lambda: 'the last known nodes stay' in self.nodes['node-a'].log.read_text(), 'a word of node-a on the name server')
        print('  the name server is stopped: the last known nodes stay')
        self.call('node-a', 'node-c.sql_query', "SELECT 'still there'")


STEPS = (('Three nodes, and three ways to find the others', Tour.show_ways),
         ('Each calls another; and one call goes by two nodes', Tour.show_calls),
         ('A node is killed', Tour.show_a_node_that_dies),
         ('An attacker in the place of node-b', Tour.show_an_attacker),
         ('A discovery server that is away', Tour.show_a_server_that_is_away))


def main(folder=None):
    """In a new `folder`, or in the one of the last tour, which goes."""
    if folder is None:
        folder = FOLDER
        shutil.rmtree(folder, ignore_errors=True)
    tour = Tour(folder)
    try:
        tour.start()
        for title, show in STEPS:
            say(title)
            show(tour)
    except Refused as refused:
        raise SystemExit(f'{refused.code}: {refused.message}') from refused
    finally:
        tour.stop()
    print(f'\nConfigurations, logs and audit trails are in {os.path.relpath(folder, ROOT)}.')


if __name__ == '__main__':
    main(*map(pathlib.Path, sys.argv[1:2]))
