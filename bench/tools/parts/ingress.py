"""Calls by MCP clients: beside native ones of the same service, and beside what others serve."""
import mcp_load
import peers
from loaded_service import LoadedService
from parts import ECHO, IN_FLIGHT, TEXT
from rounds import Target, alternate, medians, more, times

SETTINGS = {'mcp.enabled': True}


def native(server, bench):
    return figures(server, lambda: server.load('calls', *ECHO, '--count', bench.count(5_000)),
                   lambda: server.load('calls', *ECHO, '--count', bench.count(20_000), '--in-flight', IN_FLIGHT))


def by_mcp(server, door, tool):
    door.check_echo(tool, TEXT)
    return figures(server, lambda: door.call(tool, {'text': TEXT}), lambda: door.call(tool, {'text': TEXT}, IN_FLIGHT))


def figures(server, one, many):
    """One call at a time, and 64; with the CPU of the server for each, since the loads are not of one weight."""
    found = {}
    for name, load in (('one', one), ('many', many)):
        before = server.cpu_seconds()
        load = load()
        found |= {f'{name}_{key}': load[key] for key in ('p50_us', 'p99_us', 'per_second')}
        found[f'{name}_server_us'] = (server.cpu_seconds() - before) / load['count'] * 1e6
    return found


def measure(bench):
    place = bench.place('ingress')
    with LoadedService(place, 'simple', bench.authority, changes=SETTINGS) as server, peers.fastmcp(place) as fast, peers.go_sdk(place) as go:
        session, stateless = mcp_load.session(server.mcp_url, server.api_key), mcp_load.stateless(server.mcp_url, server.api_key)
        of_fast, of_go = fast.door(), go.door()
        found = alternate({'native': lambda: native(server, bench), 'MCP, session': lambda: by_mcp(server, session, 'echo.say'),
                           'MCP, stateless': lambda: by_mcp(server, stateless, 'echo.say'), 'Go SDK': lambda: by_mcp(go, of_go, 'say'),
                           'FastMCP': lambda: by_mcp(fast, of_fast, 'say')}, bench.rounds)
    return {'figures': medians(found), 'over_native_us': {name: more(found, name, 'native', 'one_p50_us') for name in ('MCP, session', 'MCP, stateless')},
            'times': {peer: times(found, 'MCP, session', peer, 'many_per_second') for peer in ('FastMCP', 'Go SDK')}}


def show(found):
    print(f'\n{"the same call, mode simple":28}{"p50 us":>10}{"p99 us":>10}{"calls/s":>12}{"64: calls/s":>14}{"p99 us":>10}{"server CPU, us: alone":>24}{"of 64":>8}')
    for name, row in found['figures'].items():
        row = {key: value['median'] for key, value in row.items()}
        print(f'{name:28}{row["one_p50_us"]:10.1f}{row["one_p99_us"]:10.1f}{row["one_per_second"]:12,.0f}{row["many_per_second"]:14,.0f}{row["many_p99_us"]:10.0f}{row["one_server_us"]:24.1f}{row["many_server_us"]:8.1f}')


def targets(found):
    return [Target('MCP ingress: p50 over a native call (session)', found['over_native_us']['MCP, session'], 100, 'us'),
            Target('MCP ingress: p50 over a native call (stateless)', found['over_native_us']['MCP, stateless'], 100, 'us'),
            Target('MCP ingress: calls a second among 64, times FastMCP\'s', found['times']['FastMCP'], 10, 'times', least=True),
            Target('MCP ingress: calls a second among 64, times the Go SDK\'s', found['times']['Go SDK'], 1, 'times', least=True)]
