"""The same echo tool as others serve it: MCP over streamable HTTP, keep-alive, JSON answers.

Neither encrypts messages, authorises callers nor keeps an audit; they are a yardstick for
what a tool call costs elsewhere.
"""
import dataclasses
import json
import os
import pathlib
import subprocess

import requests

import load
from loaded_service import cpu_seconds
from stack import ports, process

HERE = pathlib.Path(__file__).resolve().parent
DEV = HERE.parents[1] / '.dev'
VERSION = '2025-06-18'


@dataclasses.dataclass(frozen=True)
class Peer:
    name: str
    command: tuple
    path: str

    def measure(self, folder, text, seconds):
        port = ports.any_free()
        log = pathlib.Path(folder) / f'{self.name}.log'
        running = process.start([*self.command, port], log, env={**os.environ}, cwd=folder)
        try:
            process.wait_ready(self.name, running, log, lambda: not ports.free(port), 60)
            return self._measure(running.pid, f'http://127.0.0.1:{port}{self.path}', text, seconds)
        finally:
            running.stop()

    def _measure(self, pid, url, text, seconds):
        session = initialize(url)
        body = {'jsonrpc': '2.0', 'id': 7, 'method': 'tools/call', 'params': {'name': 'say', 'arguments': {'text': text}}}
        check(url, session, body, text)
        found = {name: wrk(url, session, body, connections, seconds)
                 for name, connections in (('one', 1), ('many', 64))}
        check(url, session, body, text)
        found['cpu_seconds'] = cpu_seconds(pid)
        return found


def peers():
    return [Peer('FastMCP', (DEV / 'venv-peers/bin/python', HERE / 'peers/fastmcp_echo.py'), '/mcp'),
            Peer('Go SDK', (DEV / 'tools/go_echo',), '/')]


def headers(session=None):
    common = {'Accept': 'application/json, text/event-stream', 'Mcp-Protocol-Version': VERSION}
    return {**common, 'Mcp-Session-Id': session} if session else common


def initialize(url):
    """The name of a new MCP session. Source: MCP specification 2025-06-18, Lifecycle."""
    params = {'protocolVersion': VERSION, 'capabilities': {}, 'clientInfo': {'name': 'bench', 'version': '1'}}
    answer = requests.post(url, json={'jsonrpc': '2.0', 'id': 1, 'method': 'initialize', 'params': params},
                           headers=headers(), timeout=30)
    answer.raise_for_status()
    session = answer.headers['Mcp-Session-Id']
    requests.post(url, json={'jsonrpc': '2.0', 'method': 'notifications/initialized'}, headers=headers(session),
                  timeout=30).raise_for_status()
    return session


def check(url, session, body, text):
    answer = requests.post(url, json=body, headers=headers(session), timeout=30)
    answer.raise_for_status()
    if answer.json()['result']['content'][0]['text'] != text:
        raise RuntimeError(f'{url}: not the echo')


def wrk(url, session, body, connections, seconds):
    environment = {**os.environ, 'LOAD_SESSION': session, 'LOAD_VERSION': VERSION,
                   'LOAD_BODY': json.dumps({**body, 'id': 'ID'}).replace('"ID"', 'ID')}
    done = subprocess.run(['wrk', '-t', '1', '-c', str(connections), '-d', f'{seconds}s', '--timeout', '10s', '--latency',
                           '-s', str(HERE / 'call.lua'), url], env=environment, text=True, check=True,
                          stdout=subprocess.PIPE).stdout
    if 'Non-2xx' in done or 'Socket errors' in done:
        raise RuntimeError(f'{url}: {done}')
    rate = next(line for line in done.splitlines() if line.startswith('Requests/sec:'))
    return {'per_second': float(rate.split()[1]), 'p50_us': load.latency(done, 50) * 1000,
            'p99_us': load.latency(done, 99) * 1000}
