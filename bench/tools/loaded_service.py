"""The tool service under load: limits raised out of the way, everything else as it is served.

Calls are authorised, checked against their schemas and recorded (audit.durability is
"written", the default), and the log stays on.
"""
import asyncio
import json
import os
import pathlib
import subprocess
import time

from machine import field
from scp import Client
from tool_stack.service import ROOT, ToolService

# Where another build is measured, such as the one before a change.
BUILD = pathlib.Path(os.environ.get('BENCH_BUILD', ROOT / 'build/release'))
SERVER = BUILD / 'securetool'
LOAD = BUILD / 'tool_load'
MANY = 1_000_000
SCOPES = 'cap:list,tool:invoke:echo.*,tool:invoke:sql.*'
LIMITS = {
    'limits.connections': 20_000, 'limits.connections_per_address': 20_000,
    'limits.connections_per_principal': 20_000, 'limits.unauthenticated': 20_000,
    'limits.calls_per_second': MANY, 'limits.burst': MANY, 'limits.in_flight': 64,
    # Signed messages are remembered for the window, and one session may hold a tenth of the cache.
    'security.replay_window': 5, 'security.replay_cache_size': 20 * MANY,
    'connectors.echo.enabled': True, 'connectors.files.enabled': None, 'connectors.files.root': None, 'connectors.files.extensions': None,
    'connectors.files.allow_write': None, 'security.api_key_scopes': SCOPES,
}


class LoadedService:
    """A service in `mode` with a folder of its own; `over_tls` puts TLS under the mode."""

    def __init__(self, folder, mode, authority, over_tls=False, changes=None):
        self.authority, self.mode, self.over_tls = authority, mode, over_tls
        name = f'{mode}-tls' if over_tls else mode
        changes = {**LIMITS, **(changes or {})}
        if over_tls:
            certificate, key = authority.server(name)
            changes |= {'security.tls_enabled': True, 'server.tls_cert': str(certificate), 'server.tls_key': str(key)}
        self.service = ToolService(pathlib.Path(folder) / name, mode, authority, binary=SERVER, changes=changes)
        self.service.tls = over_tls
        self.service.settings['server_url'] = self.service.url

    def __enter__(self):
        self.service.start()
        return self

    def __exit__(self, *fault):
        self.service.stop()

    @property
    def pid(self):
        return self.service.process.pid

    @property
    def mcp_url(self):
        return self.service.http_url + '/mcp'

    @property
    def api_key(self):
        return self.service.secret('api_key')

    def await_tools(self, *tools):
        """Until all of them are offered: foreign ones come when their servers have been asked."""
        async def work():
            client = Client(self.service.url, self.mode, **{name: self.service.secret(name) for name in ('secret_key', 'kdf_salt', 'api_key')})
            await client.connect()
            end = time.monotonic() + 60
            while not set(tools) <= {one['id'] for one in await client.list_capabilities()}:
                if time.monotonic() > end:
                    raise RuntimeError(f'not offered: {tools}')
                await asyncio.sleep(0.1)
            await client.disconnect()

        asyncio.run(work())

    def load(self, *arguments):
        """Runs the load to its end; what it reports."""
        with self.start_load(*arguments) as load:
            line = load.stdout.readline()
            load.stdin.close()
            if load.wait() != 0:
                raise RuntimeError(f'tool_load {arguments[0]} failed')
        return json.loads(line)

    def start_load(self, *arguments):
        command = [LOAD, arguments[0], '--url', self.service.url, '--mode', self.mode, *arguments[1:]]
        if self.over_tls:
            command += ['--ca', self.authority.roots]
        secrets = {name: self.service.secret(key) for name, key in
                   (('SCP_API_KEY', 'api_key'), ('SCP_SECRET_KEY', 'secret_key'), ('SCP_KDF_SALT', 'kdf_salt'))}
        return subprocess.Popen([str(word) for word in command], env={**os.environ, **secrets}, text=True,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def cpu_seconds(self):
        return cpu_seconds(self.pid)

    def resident_kib(self):
        return int(field(f'/proc/{self.pid}/status', 'VmRSS').split()[0])

    def peak_kib(self):
        return int(field(f'/proc/{self.pid}/status', 'VmHWM').split()[0])

    def forget_peak(self):
        """The kernel's mark begins anew at what is resident now: proc(5), clear_refs."""
        pathlib.Path(f'/proc/{self.pid}/clear_refs').write_text('5')


def raw_echo(in_flight, count):
    command = [str(LOAD), 'raw', '--bytes', '256', '--in-flight', str(in_flight), '--count', str(count)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def cpu_seconds(pid):
    """Of all threads, also of those that have ended, and of its children: clock_getcpuclockid(3), proc(5)."""
    total = time.clock_gettime(~pid << 3 | 2)
    for task in pathlib.Path(f'/proc/{pid}/task').iterdir():
        try:
            total += sum(cpu_seconds(int(child)) for child in (task / 'children').read_text().split())
        except OSError:
            continue  # It ended meanwhile.
    return total
