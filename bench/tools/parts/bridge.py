"""Calls of a foreign MCP server through the bridge, beside the same calls of it without anything between."""
import json

import mcp_load
import peers
from loaded_service import LoadedService
from parts import ECHO, IN_FLIGHT, TEXT
from rounds import Target, alternate, medians, more

SCOPES = 'cap:list,tool:invoke:echo.*,tool:invoke:go.*'
FAR = ['--tool', 'go.say', '--args', json.dumps({'text': TEXT})]


def settings(url):
    return {'mcp.enabled': True, 'security.api_key_scopes': SCOPES, 'bridges.go.kind': 'http', 'bridges.go.url': url,
            'bridges.go.first_seen': 'trust', 'bridges.go.consent': 'never'}


def measure(bench):
    place = bench.place('bridge')
    with peers.go_sdk(place) as go, LoadedService(place, 'simple', bench.authority, changes=settings(go.url)) as server:
        direct, bridged = go.door(), mcp_load.session(server.mcp_url, server.api_key)
        server.await_tools('go.say')

        def by_mcp(door, tool):
            door.check_echo(tool, TEXT)
            return figures(lambda: door.call(tool, {'text': TEXT}), lambda: door.call(tool, {'text': TEXT}, IN_FLIGHT))

        def native(load):
            return figures(lambda: server.load('calls', *load, '--count', bench.count(2_000)),
                           lambda: server.load('calls', *load, '--count', bench.count(4_000), '--in-flight', IN_FLIGHT))

        def figures(one, many):
            alone, before = one(), server.cpu_seconds()
            among = many()
            return {'p50_us': alone['p50_us'], 'many_per_second': among['per_second'], 'service_us': (server.cpu_seconds() - before) / among['count'] * 1e6}

        found = alternate({'direct': lambda: by_mcp(direct, 'say'), 'MCP in, MCP out': lambda: by_mcp(bridged, 'go.say'),
                           'native in, MCP out': lambda: native(FAR), 'native, no bridge': lambda: native(ECHO)}, bench.rounds)
    return {'figures': medians(found), 'added_us': {name: more(found, name, 'direct', 'p50_us') for name in ('MCP in, MCP out', 'native in, MCP out')}}


def show(found):
    print(f'\n{"a tool of a Go SDK server":28}{"p50 us":>10}{"64: calls/s":>14}{"CPU of the service, us":>24}')
    for name, row in found['figures'].items():
        print(f'{name:28}{row["p50_us"]["median"]:10.1f}{row["many_per_second"]["median"]:14,.0f}{row["service_us"]["median"]:24.1f}')


def targets(found):
    return [Target(f'bridge: p50 over the direct MCP call ({name})', added, 100, 'us') for name, added in found['added_us'].items()]
