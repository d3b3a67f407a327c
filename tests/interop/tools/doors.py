"""The doors by which a call reaches a tool, each as `connect`, `call` and `close`, and what is said at it in words that all share.

Each door of door_world.DOORS runs in a thread of its own. Where the client is a program, one process makes the sessions of all
principals; `securetool mcp` is one client by its nature, and so a process for each."""
import asyncio
import base64
import concurrent.futures
import dataclasses
import http.client
import json
import re
import subprocess

import websockets
from door_records import opens
from door_world import DOORS, named
from mcp_messages import ACCEPT, MODERN, PREFIX, SESSIONS
from scp import Client, Refused
from tool_clients import BINARY
from tool_stack.service import environment
from typescript_client import TypescriptClient

DRIVER = BINARY.with_name('tool_driver')
MCP_CODE = re.compile(r'(E_[A-Z]+): (.*)', re.DOTALL)


@dataclasses.dataclass
class Told:
    """What a caller is told. `word` is ok, tool_error or a code; of a credential that opens nothing, `login` and the code."""
    word: str
    message: str = ''
    content: list = dataclasses.field(default_factory=list)
    structured: object = None
    rid: str | None = None  # of the call, where the door tells it
    ran: bool = True  # or it was refused before it was a call


def refused(refusal):
    return Told(refusal.code, refusal.message)


def part_of(part):
    """(kind of media, text) of a part, as the native protocol or as MCP writes it; bytes as base64."""
    if part['type'] == 'text':
        return 'text', part['text']
    if part['type'] == 'data':
        return 'bytes', base64.b64encode(base64.urlsafe_b64decode(part['data'] + '===')).decode()
    return 'bytes', part['resource']['blob'] if part['type'] == 'resource' else part['data']


def answered(answer, is_error):
    return Told('tool_error' if is_error else 'ok', '', [part_of(part) for part in answer.get('content', [])],
                answer.get('structured', answer.get('structuredContent')))


def as_refusal(told):
    """MCP gives the refusals that a model can do something about as results with an error; so does a bridge to such a server."""
    match = MCP_CODE.fullmatch(told.content[0][1]) if told.word == 'tool_error' and len(told.content) == 1 else None
    return Told(match[1], match[2]) if match else told


def told_by_mcp(message):
    if 'error' in message:
        code = (message['error'].get('data') or {}).get('code')
        # Without a code of ours it was no call: the message broke MCP's own rules.
        return Told(code or 'E_SHAPE', message['error']['message'], ran=code is not None)
    return as_refusal(answered(message['result'], message['result'].get('isError', False)))


class Door:
    """Calls of one principal after another. `connect` raises Refused."""

    def __init__(self, world, name):
        self.world, self.name = world, name
        self.node, self.way = DOORS[name]
        self.service = world.nodes[self.node]

    def options(self, credential):
        return {'secret_key': self.world.secrets['secret_key'], 'kdf_salt': self.world.secrets['kdf_salt'],
                **({'ca': self.service.authority.roots} if self.service.tls else {}), **credential}

    async def connect(self, credential):
        self.client = Client(self.service.url, self.world.mode, **self.options(credential))
        await self.client.connect()

    async def call(self, tool, arguments):
        try:
            answer = await self.client.call('tool.invoke', {'tool': tool, 'args': arguments})
        except Refused as refusal:
            return refused(refusal)
        told = answered(answer, answer['is_error'])
        return as_refusal(told) if self.way == 'bridge' else told

    async def listed(self):
        return [one['id'] for one in await self.client.list_capabilities()]

    async def close(self):
        await self.client.disconnect()

    async def end(self):
        pass


class ProgramDoor(Door):
    """A client library behind a program that takes commands as lines."""

    class Cpp(TypescriptClient):
        COMMAND = (DRIVER,)

    KINDS = {'cpp': Cpp, 'typescript': TypescriptClient}
    program = None

    async def connect(self, credential):
        made = self.KINDS[self.name](self.service.url, self.world.mode, **self.options(credential))
        if self.program is None:
            self.program = made
            await made.start()
        await self.program._do('make', options=made.options)
        await self.program._do('connect')

    async def call(self, tool, arguments):
        try:
            answer = await self.program.invoke(tool, arguments, {})
        except Refused as refusal:
            return refused(refusal)
        return answered(answer, answer['is_error'])

    async def listed(self):
        return [one['id'] for one in await self.program.list_capabilities()]

    async def close(self):
        await self.program._do('disconnect')

    async def end(self):
        if self.program:
            await self.program._end()


class WorkflowDoor(Door):
    """The call is the one step of a workflow. Half of them have their arguments in the file, half take them from its input."""
    count = 0

    async def call(self, tool, arguments):
        self.count += 1
        given = {} if self.count % 2 else {'input': arguments}
        holes = {name: {'$from': '/input/' + name.replace('~', '~0').replace('/', '~1')} for name in arguments} if given else arguments
        flow = {'workflow': 1, 'steps': [{'name': 'it', 'tool': tool, 'args': holes, 'may_fail': True}], 'output': {'all': {'$from': '/steps/it'}}}
        if given:
            flow['input'] = {'type': 'object'}
        try:
            run = await self.client.flow_run(flow, **given)
        except Refused as refusal:
            return dataclasses.replace(refused(refusal), ran=False)
        step = run['steps'][0]
        told = answered(run['output']['all'], step['state'] == 'failed')
        if step.get('status', '').startswith('E_'):
            told = Told(step['status'], step.get('msg', ''))
        return dataclasses.replace(told, rid=step.get('rid'), ran='rid' in step)


class McpDoor(Door):
    """Streamable HTTP: each request for itself (2026-07-28), or in a session (2025-11-25)."""
    connection = None

    async def connect(self, credential):
        if self.connection is None:
            tls = {'context': self.service.authority.client_tls()} if self.service.tls else {}
            self.connection = (http.client.HTTPSConnection if tls else http.client.HTTPConnection)('127.0.0.1', self.service.port, timeout=60, **tls)
        self.head = {'Content-Type': 'application/json', 'Accept': ACCEPT, 'Authorization': f'Bearer {next(iter(credential.values()))}'}
        if self.name == 'mcp':
            self.head['MCP-Protocol-Version'] = MODERN
            self.ask('server/discover', {}, {'Mcp-Method': 'server/discover'})
            return
        answer = self.ask('initialize', {'protocolVersion': SESSIONS, 'capabilities': {}, 'clientInfo': {'name': 'doors', 'version': '1'}})
        self.head |= {'Mcp-Session-Id': answer['session'], 'MCP-Protocol-Version': SESSIONS}
        self.post({'method': 'notifications/initialized'})

    def post(self, message, head=None):
        self.connection.request('POST', '/mcp', body=json.dumps({'jsonrpc': '2.0', **message}), headers={**self.head, **(head or {})})
        answer = self.connection.getresponse()
        body = answer.read()
        if answer.status == 413:
            raise Refused('E_LIMIT', body.decode())
        if answer.status == 401:
            raise Refused('login', body.decode())
        return answer, body

    def ask(self, method, params, head=None):
        if self.name == 'mcp':
            params = {**params, '_meta': {PREFIX + 'protocolVersion': MODERN, PREFIX + 'clientCapabilities': {}}}
        answer, body = self.post({'id': 1, 'method': method, 'params': params}, head)
        text = body.decode()
        if answer.getheader('Content-Type') == 'text/event-stream':
            text = [line for line in text.splitlines() if line.startswith('data: ')][-1].removeprefix('data: ')
        return {**json.loads(text), 'session': answer.getheader('Mcp-Session-Id')}

    async def call(self, tool, arguments):
        name = tool if re.fullmatch(r'[!-~]+', tool) else f'=?base64?{base64.b64encode(tool.encode()).decode()}?='
        return told_by_mcp(self.ask('tools/call', {'name': tool, 'arguments': arguments}, {'Mcp-Method': 'tools/call', 'Mcp-Name': name} if self.name == 'mcp' else None))

    async def listed(self):
        return [one['name'] for one in self.ask('tools/list', {}, {'Mcp-Method': 'tools/list'})['result']['tools']]

    async def close(self):
        if self.name != 'mcp':
            self.connection.request('DELETE', '/mcp', headers=self.head)
            self.connection.getresponse().read()

    async def end(self):
        self.connection.close()


class StdioDoor(Door):
    """`securetool mcp`. In mode enterprise it gets its token from the provider, as a client does."""

    async def connect(self, credential):
        said = {'SCP_MODE': self.world.mode, 'SCP_SERVER_URL': self.service.url, 'SCP_SECRET_KEY': self.world.secrets['secret_key'],
                'SCP_KDF_SALT': self.world.secrets['kdf_salt'], 'SCP_SECURITY_ALLOW_INSECURE_TRANSIT': '1'}
        if 'api_key' in credential or not self.world.issuer:
            said |= {'SCP_API_KEY': credential.get('api_key', self.world.secrets.get('api_key', '')), 'SCP_SECURITY_CLIENT_TOKEN': credential.get('token', '')}
        else:
            client = self.world.issuer.client_of(credential['token'])
            said |= {'SCP_OAUTH2_TOKEN_URL': self.world.issuer.token_url, 'SCP_OAUTH2_CLIENT_ID': client, 'SCP_OAUTH2_CLIENT_SECRET': 'of-doors-Vq8ZpR2mXw6TbY4kLc9N',
                     'SCP_OAUTH2_ISSUER': self.world.issuer.issuer, 'SCP_OAUTH2_AUDIENCE': self.world.issuer.audience, 'SCP_SECURITY_TLS_ENABLED': '1',
                     'SCP_OAUTH2_CA_CERT_PATH': str(self.service.authority.roots), 'SCP_SECURITY_CA_CERT_PATH': str(self.service.authority.roots)}
        if 'holder_key' in credential:
            said['SCP_SECURITY_HOLDER_KEY_PATH'] = str(credential['holder_key'])
        self.process = subprocess.Popen([BINARY, 'mcp', '--tools', 'all'], env={**environment(), **{name: value for name, value in said.items() if value}}, text=True,
                                        cwd=self.world.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.ask('server/discover', {})

    def ask(self, method, params):
        params = {**params, '_meta': {PREFIX + 'protocolVersion': MODERN, PREFIX + 'clientCapabilities': {}}}
        try:
            self.process.stdin.write(json.dumps({'jsonrpc': '2.0', 'id': 1, 'method': method, 'params': params}) + '\n')
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ''
        if not line:
            said = self.process.communicate()[1]
            match = MCP_CODE.search(said)
            raise Refused(match[1], match[2]) if match else ConnectionError(said)
        return json.loads(line)

    async def call(self, tool, arguments):
        return told_by_mcp(self.ask('tools/call', {'name': tool, 'arguments': arguments}))

    async def listed(self):
        return [one['name'] for one in self.ask('tools/list', {})['result']['tools']]

    async def close(self):
        self.process.communicate(timeout=60)

    async def end(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()


KINDS = {'cpp': ProgramDoor, 'typescript': ProgramDoor, 'mcp': McpDoor, 'mcp-session': McpDoor, 'stdio': StdioDoor, 'workflow': WorkflowDoor}


async def _through(world, name, people):
    door = KINDS.get(name, Door)(world, name)
    told, listed, large = {}, {}, None
    for person in people:
        try:
            await door.connect(world.credentials[person.name, name])
        except Refused as refusal:
            told[person.name] = [Told('login' if refusal.code == 'login' else f'login {refusal.code}', refusal.message)]
            continue
        listed[person.name] = await door.listed()
        told[person.name] = [await door.call(named(tool, door.way), arguments) for tool, arguments in person.calls]
        await door.close()
    if name != 'workflow':  # whose message is the one of `python`, and which would be sent again and again
        large = await _too_large(door, next(person for person in people if opens(person, name)))
    return told, listed, large


async def _too_large(door, person):
    """What comes of a message that is larger than any may be. It ends the native client's connection, and so is the last one."""
    await door.connect(door.world.credentials[person.name, door.name])
    try:
        return await asyncio.wait_for(door.call(named('files.stat', door.way), {'path': 'x' * (2 << 20)}), 60)
    except (Refused, OSError, websockets.ConnectionClosed) as lost:
        return Told('too large', repr(lost))
    finally:
        await door.end()


def through(world, people, doors):
    """What is told, what is listed, and what a message that is too large is told: {door: ({principal: [Told]}, {principal: [name]}, Told)}."""
    with concurrent.futures.ThreadPoolExecutor(len(doors)) as pool:
        running = {name: pool.submit(asyncio.run, _through(world, name, people)) for name in doors}
        return {name: one.result() for name, one in running.items()}
