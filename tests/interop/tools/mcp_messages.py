"""MCP over HTTP, byte by byte: what no client library would send, and what it would hide."""
import http.client
import itertools
import json

MODERN, SESSIONS = '2026-07-28', '2025-11-25'
PREFIX = 'io.modelcontextprotocol/'
ACCEPT = 'application/json, text/event-stream'


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, {name.lower(): value for name, value in headers}, body

    @property
    def messages(self):
        """Those of an event stream, or the one of JSON."""
        if self.headers.get('content-type') == 'text/event-stream':
            lines = self.body.decode().splitlines()
            return [json.loads(line.removeprefix('data: ')) for line in lines if line.startswith('data: ')]
        return [json.loads(self.body)] if self.body else []

    @property
    def last(self):
        return self.messages[-1]

    @property
    def result(self):
        assert 'result' in self.last, self.last
        return self.last['result']

    @property
    def error(self):
        assert 'error' in self.last, self.last
        return self.last['error']


class McpCaller:
    """Requests to one endpoint with one bearer token; None for none."""

    def __init__(self, service, token, path='/mcp'):
        self.service, self.token, self.path = service, token, path
        self.ids = itertools.count(1)
        self.session = None

    def send(self, body, headers=None, method='POST', path=None):
        """`headers` of None are left out; a body that is no text is written as JSON."""
        sent = {'Content-Type': 'application/json', 'Accept': ACCEPT, 'Authorization': self.token and f'Bearer {self.token}', **(headers or {})}
        connection = self.connect()
        try:
            text = body if body is None or isinstance(body, (str, bytes)) else json.dumps(body)
            connection.request(method, path or self.path, body=text, headers={name: value for name, value in sent.items() if value is not None})
            answer = connection.getresponse()
            return Answer(answer.status, answer.getheaders(), answer.read())
        finally:
            connection.close()

    def connect(self):
        tls = self.service.authority.client_tls() if self.service.tls else None
        kind = http.client.HTTPSConnection if tls else http.client.HTTPConnection
        return kind('127.0.0.1', self.service.port, timeout=30, **({'context': tls} if tls else {}))

    def modern(self, method, params=None, capabilities=None, headers=None, meta=None, name=None):
        """A request of the revision without sessions."""
        params = dict(params or {})
        params['_meta'] = {PREFIX + 'protocolVersion': MODERN, PREFIX + 'clientCapabilities': capabilities or {}, **(meta or {})}
        said = {'MCP-Protocol-Version': MODERN, 'Mcp-Method': method}
        named = name or params.get('name') or params.get('uri') or params.get('taskId')
        if method in ('tools/call', 'prompts/get', 'resources/read', 'tasks/get', 'tasks/update', 'tasks/cancel') and isinstance(named, str):
            said['Mcp-Name'] = named
        return self.send({'jsonrpc': '2.0', 'id': next(self.ids), 'method': method, 'params': params}, {**said, **(headers or {})})

    def call(self, tool, arguments=None, **options):
        """A tool's call without a session; `options` go to modern(), and what is no option of it into the parameters."""
        known = {name: options.pop(name) for name in ('capabilities', 'headers', 'meta') if name in options}
        return self.modern('tools/call', {'name': tool, 'arguments': arguments or {}, **options}, **known)

    def open(self, capabilities=None, version=SESSIONS):
        """A session of an older revision."""
        answer = self.send({'jsonrpc': '2.0', 'id': next(self.ids), 'method': 'initialize', 'params': {
            'protocolVersion': version, 'capabilities': capabilities or {}, 'clientInfo': {'name': 'raw', 'version': '1'}}})
        self.session, self.version = answer.headers['mcp-session-id'], answer.result['protocolVersion']
        assert self.tell('notifications/initialized').status == 202
        return answer

    def in_session(self, method, params=None, headers=None):
        body = {'jsonrpc': '2.0', 'id': next(self.ids), 'method': method, 'params': params or {}}
        return self.send(body, {'Mcp-Session-Id': self.session, 'MCP-Protocol-Version': self.version, **(headers or {})})

    def tell(self, method, params=None):
        body = {'jsonrpc': '2.0', 'method': method, **({'params': params} if params else {})}
        return self.send(body, {'Mcp-Session-Id': self.session, 'MCP-Protocol-Version': self.version})


class EventStream:
    """The answer to a request that is read while it goes on; of a session, unless other `headers` are given."""

    def __init__(self, caller, message=None, method='POST', headers=None):
        self.connection = caller.connect()
        headers = {'Content-Type': 'application/json', 'Accept': ACCEPT, 'Authorization': f'Bearer {caller.token}',
                   **(headers or {'Mcp-Session-Id': caller.session, 'MCP-Protocol-Version': caller.version})}
        body = None if message is None else json.dumps({'jsonrpc': '2.0', 'id': next(caller.ids), **message})
        self.connection.request(method, caller.path, body=body, headers=headers)
        self.answer = self.connection.getresponse()

    def next(self):
        """The next message; None after the last."""
        while line := self.answer.readline():
            if line.startswith(b'data: '):
                return json.loads(line.removeprefix(b'data: '))
        return None

    def close(self):
        self.answer.close()
        self.connection.close()


def listening(caller, capabilities=None, **wanted):
    """A `subscriptions/listen` for what is wanted."""
    params = {'notifications': wanted, '_meta': {PREFIX + 'protocolVersion': MODERN, PREFIX + 'clientCapabilities': capabilities or {}}}
    return EventStream(caller, {'id': 'listen', 'method': 'subscriptions/listen', 'params': params},
                       headers={'MCP-Protocol-Version': MODERN, 'Mcp-Method': 'subscriptions/listen'})
