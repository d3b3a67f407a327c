"""Load on MCP over streamable HTTP, keep-alive, answers as JSON: wrk, the cheapest client there is.

A Door is one endpoint as one client uses it, with the headers that each of its requests has.
"""
import dataclasses
import itertools
import json
import os
import pathlib
import subprocess

import requests

import load

HERE = pathlib.Path(__file__).resolve().parent
SESSIONS, STATELESS = '2025-06-18', '2026-07-28'
META = {'io.modelcontextprotocol/protocolVersion': STATELESS, 'io.modelcontextprotocol/clientCapabilities': {}}
ID = '"@id@"'


@dataclasses.dataclass(frozen=True)
class Door:
    url: str
    headers: dict

    def ask(self, method, params=None):
        """The result of one request."""
        answer = requests.post(self.url, data=self.body(method, params).replace(ID, '7'), headers={**self.headers, **self.named(method, params)}, timeout=30)
        answer.raise_for_status()
        said = answer.json()
        if 'result' not in said:
            raise RuntimeError(f'{self.url}: {said}')
        return said['result']

    @property
    def stateless(self):
        return self.headers['MCP-Protocol-Version'] == STATELESS

    def body(self, method, params):
        params = {**(params or {}), **({'_meta': META} if self.stateless else {})}
        return json.dumps({'jsonrpc': '2.0', 'id': ID.strip('"'), 'method': method, 'params': params})

    def named(self, method, params):
        """Source: MCP 2026-07-28, "Standard request headers"."""
        if not self.stateless:
            return {}
        return {'Mcp-Method': method, **({'Mcp-Name': params['name']} if method == 'tools/call' else {})}

    def load(self, method, params, connections=1, seconds=1):
        """`params` in turn, again and again. Figures of one round."""
        params = params if isinstance(params, list) else [params]
        headers = {**self.headers, **self.named(method, params[0])}
        environment = {**os.environ, 'LOAD_HEADERS': '\n'.join(f'{name}: {value}' for name, value in headers.items()),
                       'LOAD_BODIES': '\n'.join(self.body(method, one) for one in params)}
        done = subprocess.run(['wrk', '-t', '1', '-c', str(connections), '-d', f'{seconds}s', '--timeout', '10s', '--latency', '-s', str(HERE / 'call.lua'), self.url],
                              env=environment, text=True, check=True, stdout=subprocess.PIPE).stdout
        if 'Non-2xx' in done or 'Socket errors' in done:
            raise RuntimeError(f'{self.url}: {done}')
        rate = next(line for line in done.splitlines() if line.startswith('Requests/sec:'))
        return {'count': float(rate.split()[1]) * seconds, 'per_second': float(rate.split()[1]), 'p50_us': load.latency(done, 50) * 1000, 'p99_us': load.latency(done, 99) * 1000}

    def call(self, tool, arguments, connections=1, seconds=1):
        return self.load('tools/call', {'name': tool, 'arguments': arguments}, connections, seconds)

    def check_echo(self, tool, text):
        result = self.ask('tools/call', {'name': tool, 'arguments': {'text': text}})
        if result['content'][0]['text'] != text:
            raise RuntimeError(f'{self.url}: not the echo')

    def whole_list(self):
        """Every tool, and the params of the requests that they took."""
        tools, asked = [], [{}]
        while True:
            page = self.ask('tools/list', asked[-1])
            tools += page['tools']
            if 'nextCursor' not in page:
                return tools, asked
            asked.append({'cursor': page['nextCursor']})


def common(token):
    found = {'Content-Type': 'application/json', 'Accept': 'application/json, text/event-stream'}
    return {**found, 'Authorization': f'Bearer {token}'} if token else found


def stateless(url, token=None):
    return Door(url, {**common(token), 'MCP-Protocol-Version': STATELESS})


def session(url, token=None):
    """A new session. Source: MCP specification 2025-06-18, "Lifecycle"."""
    headers = {**common(token), 'MCP-Protocol-Version': SESSIONS}
    ids = itertools.count(1)
    params = {'protocolVersion': SESSIONS, 'capabilities': {}, 'clientInfo': {'name': 'bench', 'version': '1'}}
    answer = requests.post(url, json={'jsonrpc': '2.0', 'id': next(ids), 'method': 'initialize', 'params': params}, headers=headers, timeout=30)
    answer.raise_for_status()
    headers['Mcp-Session-Id'] = answer.headers['Mcp-Session-Id']
    requests.post(url, json={'jsonrpc': '2.0', 'method': 'notifications/initialized'}, headers=headers, timeout=30).raise_for_status()
    return Door(url, headers)
