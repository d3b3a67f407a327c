"""Drops what an earlier run left: the kit refuses to start on its own left-overs."""
import urllib.parse

import requests

NAMES = {'ns', 'newdb', 'ns1', 'ns2', 'other_ns', 'ns_1', 'ns_2', 'a', 'parent', 'non-existing'}


def purge(lake):
    """Removes the kit's namespaces with all they hold, the deepest first."""
    base = catalog_base(lake)
    for levels in sorted(all_namespaces(base), key=len, reverse=True):
        if levels[0] in NAMES:
            drop_namespace(base, '%1F'.join(urllib.parse.quote(level, safe='') for level in levels))


def catalog_base(lake):
    config = get(f'{lake.uri}/v1/config', {'warehouse': lake.warehouse})
    prefix = {**config.get('defaults', {}), **config.get('overrides', {})}.get('prefix')
    return f'{lake.uri}/v1/{urllib.parse.quote(prefix, safe="") + "/" if prefix else ""}'


def all_namespaces(base, parent=()):
    query = {'parent': '\x1f'.join(parent)} if parent else {}
    for levels in get(f'{base}namespaces', query).get('namespaces', []):
        if tuple(levels[:len(parent)]) == tuple(parent) and len(levels) > len(parent):
            yield tuple(levels)
            yield from all_namespaces(base, levels)


def drop_namespace(base, path):
    for kind in ('tables', 'views'):
        listed = requests.get(f'{base}namespaces/{path}/{kind}', timeout=30)
        # A catalog without views answers 404 or 501 here, and has none to drop.
        for identifier in listed.json().get('identifiers', []) if listed.ok else []:
            name = urllib.parse.quote(identifier['name'], safe='')
            requests.delete(f'{base}namespaces/{path}/{kind}/{name}', timeout=30).raise_for_status()
    requests.delete(f'{base}namespaces/{path}', timeout=30).raise_for_status()


def get(url, query):
    answer = requests.get(url, params=query, timeout=30)
    answer.raise_for_status()
    return answer.json()
