"""500 tools: listed, and found by words, beside a peer that lists the same."""
import json
import pathlib
import sys

import mcp_load
import peers
from loaded_service import LoadedService
from parts import ROOT
from rounds import Target, alternate, median, medians

TOOLS = ROOT / 'tests/tool_search/tools.tsv'
QUERIES = ROOT / 'tests/tool_search/held_out_models.tsv'
SERVER = ROOT / 'tests/interop/tools/mcp_servers'
ALL = 500


def settings():
    """A foreign server offers the 500 of the labelled set."""
    python = str(pathlib.Path(sys.prefix).resolve()), str(pathlib.Path(sys.base_prefix).resolve())
    return {'mcp.enabled': True, 'security.api_key_scopes': 'cap:list,tool:invoke:m.*', 'bridges.m.kind': 'stdio', 'bridges.m.command': sys.executable,
            'bridges.m.arguments': [str(SERVER / 'many.py'), str(TOOLS)], 'bridges.m.runs': list(python), 'bridges.m.reads': [str(SERVER), str(TOOLS.parent)],
            'bridges.m.first_seen': 'trust', 'bridges.m.consent': 'never', 'connectors.echo.enabled': None}


def listed(server, door):
    """One client that lists all, page after page."""
    tools, asked = door.whole_list()
    if len(tools) < ALL:
        raise RuntimeError(f'{len(tools)} tools')
    before, load = server.cpu_seconds(), door.load('tools/list', asked)
    return {'list_us': 1e6 / load['per_second'] * len(asked), 'pages': len(asked), 'cpu_us': (server.cpu_seconds() - before) / load['count'] * len(asked) * 1e6}


def measure(bench):
    place = bench.place('catalog')
    with peers.go_sdk(place, TOOLS) as go, LoadedService(place, 'simple', bench.authority, changes=settings()) as server:
        every, few = mcp_load.session(server.mcp_url, server.api_key), mcp_load.session(server.mcp_url + '?tools=search', server.api_key)
        server.await_tools('m.github_create_issue')
        of_go, queries = go.door(), [line.split('\t') for line in QUERIES.read_text().splitlines()]

        def native():
            before, count = server.cpu_seconds(), bench.count(300)
            load = server.load('lists', '--count', count)
            return {'list_us': load['p50_us'], 'bytes': load['answer_bytes'], 'cpu_us': (server.cpu_seconds() - before) / (count * 1.1) * 1e6,
                    'client_us': load['cpu_seconds'] / load['count'] * 1e6}

        def search():
            asked = [{'name': 'search', 'arguments': {'query': query}} for _, query in queries[:100]]
            return {'search_us': few.load('tools/call', asked)['p50_us']}

        found = alternate({'native': native, 'MCP': lambda: listed(server, every), 'Go SDK': lambda: listed(go, of_go), 'search': search}, bench.rounds)
        return {'figures': medians(found), 'list_us': {name: median(found, name, 'list_us') for name in ('native', 'MCP', 'Go SDK')},
                'search_us': median(found, 'search', 'search_us'), **quality(few, every, queries)}


def quality(few, every, queries):
    """Tokens to begin with, as o200k_base counts them, and how often the right tool is among five."""
    import bpe_openai
    encoding = bpe_openai.get_encoding('o200k_base')

    def tokens(value):
        return len(encoding.encode(json.dumps(value, separators=(',', ':'), ensure_ascii=False)))

    hits, cost = 0, 0
    for name, query in queries:
        answer = json.loads(few.ask('tools/call', {'name': 'search', 'arguments': {'query': query}})['content'][0]['text'])
        hits += f'm.{name}' in [one['name'] for one in answer['tools']]
        cost += tokens(answer)
    return {'tokens_few': tokens(few.whole_list()[0]), 'tokens_all': tokens(every.whole_list()[0]), 'tokens_of_a_search': cost / len(queries),
            'found_among_five': hits / len(queries)}


def show(found):
    times = ', '.join(f'{name} {found["list_us"][name] / 1000:.2f} ms (CPU of the server {found["figures"][name]["cpu_us"]["median"] / 1000:.2f} ms)'
                      for name in found['list_us'])
    print(f'\n{ALL} tools listed: {times} ({found["figures"]["native"]["bytes"]["median"] / 1000:.0f} kB natively, CPU of the client '
          f'{found["figures"]["native"]["client_us"]["median"] / 1000:.2f} ms); a search among them {found["search_us"]:.0f} us\n'
          f'tokens to begin with: {found["tokens_few"]} in place of {found["tokens_all"]:,}, {found["tokens_of_a_search"]:.0f} for the answer to a search; '
          f'the right tool is among five for {found["found_among_five"]:.0%}')


def targets(found):
    return [Target(f'{ALL} tools listed, natively on one page', found['list_us']['native'] / 1000, 1, 'ms'),
            Target(f'{ALL} tools listed, natively: CPU of the server', found['figures']['native']['cpu_us']['median'] / 1000, 1, 'ms'),
            Target(f'{ALL} tools listed by MCP, page after page', found['list_us']['MCP'] / 1000, 1, 'ms'),
            Target(f'{ALL} tools: tokens to begin with, searched instead of listed', found['tokens_few'], 600, 'tokens')]
