"""Three nodes that find each other in three ways, call each other's tools, run a workflow while one of them is killed, lose one, and do not
believe an attacker."""
import asyncio
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'clients/python'))

from scp import Client, Refused  # noqa: E402
from tool_stack.authority import Authority  # noqa: E402
from tool_stack.discovery_servers import Etcd, NameServer  # noqa: E402
from tool_stack.service import BINARY, ToolService, environment, strong  # noqa: E402
from tour.show import say  # noqa: E402

FOLDER = ROOT / '.dev/federation_tour'
NAMES = ('node-a', 'node-b', 'node-c')
SCOPES = ['cap:list', 'flow:run', *(f'tool:invoke:{name}.*' for name in ('sql', 'tools', *NAMES))]
PATIENCE = 60
# Adds two numbers, after a while, and notes in a file of its node that it did.
WORK = """#!/usr/bin/python3
import pathlib, sys, time
step, left, right, seconds = sys.argv[2:]
time.sleep(float(seconds))
with pathlib.Path(sys.argv[1]).open('a') as effects:
    effects.write(step + '\\n')
print(int(left) + int(right), end='')
"""


def step(name, tool, left, right, seconds='0.1', **more):
    return {'name': name, 'tool': tool, 'args': {'step': name, 'left': left, 'right': right, 'seconds': seconds}, **more}


def of(name):
    return {'$from': f'/steps/{name}/content/0/text'}


SLOW = '4'
# pick and weigh at the same time, then add, then send.
ORDER = {'workflow': 1, 'title': 'An order by three nodes', 'output': {'sum': of('send')}, 'steps': [
    step('pick', 'node-c.tools_work', '20', '10'),
    step('weigh', 'node-b.tools_work', '4', '5', SLOW),
    step('add', 'tools.work', of('pick'), of('weigh')),
    step('send', 'node-c.tools_work', of('add'), '3')]}
LOST = {'workflow': 1, 'steps': [
    step('weigh', 'node-b.tools_work', '4', '5', undo={'tool': 'node-b.tools_work', 'args': {'step': 'unweigh', 'left': '0', 'right': '0', 'seconds': '0.1'}}),
    step('send', 'node-c.tools_again', of('weigh'), '3', timeout_ms=1_000, retry={'attempts': 3, 'pause_ms': 500})]}


def until(condition, what):
    end = time.monotonic() + PATIENCE
    while not (found := condition()):
        if time.monotonic() > end:
            raise SystemExit(f'not within {PATIENCE} s: {what}')
        time.sleep(0.1)
    return found


class Flow:
    """A workflow that the command line runs."""

    def __init__(self, command):
        self.lines = []
        self.process = subprocess.Popen([str(word) for word in command], env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.reader = threading.Thread(target=self._read)
        self.reader.start()

    def _read(self):
        for line in self.process.stderr:
            self.lines.append(line)
            if line.startswith('['):  # Not the run's id, which is never the same.
                print(f'    {line}', end='', flush=True)

    def await_line(self, text):
        until(lambda: any(text in line for line in self.lines), f'`{text}` of the workflow')

    def end(self):
        answer = self.process.stdout.read()
        self.process.wait(PATIENCE)
        self.reader.join()
        if not answer:
            raise SystemExit(''.join(self.lines))
        return json.loads(answer)


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
        off |= self.tools(name)
        return ToolService(self.folder / (folder or f'service-{name}'), 'encrypted', self.authority, binary=BINARY, changes={
            **self.shared, **off, 'node_id': name, 'security.proof_signing_key_path': f'{key}.key'})

    def effects(self, name):
        return self.folder / f'effects-{name}'

    def tools(self, name):
        """`work` may be called once; `again` does the same, and says that it can be called twice."""
        program = self.folder / 'work'
        program.write_text(WORK)
        program.chmod(0o700)
        one = {'kind': 'command', 'description': 'Adds two numbers.', 'consent': 'never', 'program': str(program),
               'arguments': [str(self.effects(name)), *(f'{{{word}}}' for word in ('step', 'left', 'right', 'seconds'))],
               **{f'parameters.{word}.type': 'string' for word in ('step', 'left', 'right', 'seconds')}}
        return {f'tools.{tool}.{member}': value for tool, more in (('work', {}), ('again', {'idempotent': True}))
                for member, value in {**one, **more}.items()}

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

    def listed(self, name):
        async def work(client):
            return {one['id'] for one in await client.list_capabilities()}

        return self.ask(name, work)

    def await_tools(self, name, *tools):
        until(lambda: set(tools) <= self.listed(name), f'{" ".join(tools)} at {name}')

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

    # Workflows, run at node-a by the command line.

    def flow(self, workflow):
        """The command line in a process of its own: what it tells is printed as it comes."""
        for name in NAMES:
            self.effects(name).unlink(missing_ok=True)
        node = self.nodes['node-a']
        file = self.folder / 'workflow.json'
        file.write_text(json.dumps(workflow))
        return Flow([BINARY, 'flow', 'run', file, '--config', node.write_config()])

    def count_effects(self, expected):
        """What the tools noted, at each node."""
        done = {name: self.effects(name).read_text().split() for name in NAMES if self.effects(name).exists()}
        print('    written down by the tools: ' + '; '.join(f'{name}: {", ".join(steps)}' for name, steps in done.items()))
        if done != expected:
            raise SystemExit(f'not done once each: {done}')

    def await_effect(self, name, effect):
        until(lambda: self.effects(name).exists() and effect in self.effects(name).read_text().split(), f'{effect} at {name}')

    def kill(self, name):
        self.nodes[name].process.stop(first_signal=signal.SIGKILL)

    def show_a_workflow(self):
        print('  pick at node-c and weigh at node-b, side by side; add at node-a what they answer; send that at node-c')
        for name in ('node-b', 'node-c'):
            self.await_tools('node-a', f'{name}.tools_work', f'{name}.tools_again')
        going = self.flow(ORDER)
        self.await_effect('node-c', 'pick')
        self.kill('node-a')
        print('  node-a, which runs it, is killed while node-b weighs')
        self.nodes['node-a'].start()
        print('  node-a is back, and asks node-b by the key of the step: did it run?')
        self.report(going.end(), 'done')
        self.count_effects({'node-b': ['weigh'], 'node-c': ['pick', 'send'], 'node-a': ['add']})

    def show_a_workflow_without_a_node(self):
        going = self.flow(ORDER)
        going.await_line('pick: done')
        self.kill('node-c')
        print('  node-c is killed: it picked, and has yet to send')
        self.await_effect('node-a', 'add')
        print('  add is done; send waits for node-c')
        self.nodes['node-c'].start()
        print('  node-c is back')
        self.report(going.end(), 'done')
        self.count_effects({'node-b': ['weigh'], 'node-c': ['pick', 'send'], 'node-a': ['add']})

    def show_a_workflow_that_is_taken_back(self):
        self.kill('node-c')
        print('  node-c is killed, and stays away')
        self.report(self.flow(LOST).end(), 'failed')
        self.count_effects({'node-b': ['weigh', 'unweigh']})
        self.nodes['node-c'].start()

    @staticmethod
    def report(answer, expected):
        output, error = answer.get('output'), answer.get('error')
        print(f'    {answer["state"]}' + (f': {json.dumps(output)}' if output else '') + (f': {error["code"]} {error["msg"]}' if error else ''))
        if answer['state'] != expected:
            raise SystemExit(f'the workflow is {answer}')

    def show_a_node_that_dies(self):
        self.kill('node-b')
        until(lambda: 'node-b' not in self.etcd.keys(), 'the end of the lease')
        print('  node-b is killed; its lease in etcd has ended')
        self.dns.take('node-b')
        until(lambda: not any(one.startswith('node-b.') for one in self.listed('node-a')), 'node-b gone at node-a')
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
        if any(one.startswith('node-b.') for one in self.listed('node-a')):
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
         ('A workflow by all three, and the node that runs it is killed', Tour.show_a_workflow),
         ('The same, and a node that does steps is killed', Tour.show_a_workflow_without_a_node),
         ('And one whose node stays away: tried again, then taken back', Tour.show_a_workflow_that_is_taken_back),
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
