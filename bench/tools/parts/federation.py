"""Calls that one node forwards to another: with a proof by key, and by the shared secret; beside calls of the node itself, and beside
bare signatures."""
import json
import subprocess

import micro
from loaded_service import SERVER, LoadedService
from parts import ECHO, IN_FLIGHT, TEXT
from rounds import Target, alternate, median, medians, more
from tool_stack.service import strong

SCOPES = 'cap:list,tool:invoke:echo.*,tool:invoke:{far}.*'


class Pair:
    """Two nodes, of which the first calls the second; they know each other by keys, or by the shared secret alone. `more` are
    settings of both."""

    def __init__(self, bench, name, keyed, scopes='', more=None):
        place, self.far, self.count = bench.place(name), f'{name}-b', bench.count
        granted = SCOPES.format(far=self.far) + (f',{scopes}' if scopes else '')
        shared = {'secret_key': strong(), 'jwt_secret': strong(), 'kdf_salt': strong(24), 'api_key': strong(), 'cluster.name': 'bench',
                  'cluster.peer_scopes': granted, 'security.api_key_scopes': granted, **(more or {})}
        self.nodes = [LoadedService(place / one, 'encrypted', bench.authority, changes={**shared, 'node_id': f'{name}-{one}'}) for one in ('a', 'b')]
        keys = [make_key(place, one) if keyed else None for one in ('a', 'b')]
        a, b = (node.service.settings for node in self.nodes)
        a['cluster.peers'] = [f'{self.far} {self.nodes[1].service.url}' + (f' {keys[1]}.pub' if keyed else '')]
        b['cluster.peers'] = [f'{name}-a -' + (f' {keys[0]}.pub' if keyed else '')]
        if keyed:
            a['security.proof_signing_key_path'], b['security.proof_signing_key_path'] = (f'{key}.key' for key in keys)

    def __enter__(self):
        for node in reversed(self.nodes):
            node.__enter__()
        self.nodes[0].await_tools(f'{self.far}.echo_say')
        return self

    def __exit__(self, *fault):
        for node in self.nodes:
            node.__exit__(*fault)

    def forwarded(self):
        return self.load(['--tool', f'{self.far}.echo_say', '--args', json.dumps({'text': TEXT})])

    def local(self):
        return self.load(ECHO)

    def load(self, call):
        """One at a time, and then among 64; the CPU of a call on both nodes."""
        one = self.nodes[0].load('calls', *call, '--count', self.count(1_000))
        before = sum(node.cpu_seconds() for node in self.nodes)
        many = self.nodes[0].load('calls', *call, '--count', self.count(3_000), '--in-flight', IN_FLIGHT)
        return {'p50_us': one['p50_us'], 'many_per_second': many['per_second'],
                'nodes_us': (sum(node.cpu_seconds() for node in self.nodes) - before) / (self.count(3_000) * 1.1) * 1e6}


def make_key(folder, name):
    subprocess.run([SERVER, 'keygen', 'ed25519', '--out', str(folder / name)], check=True, capture_output=True, timeout=60)
    return folder / name


def measure(bench):
    with Pair(bench, 'keyed', True) as keyed, Pair(bench, 'secret', False) as secret:
        found = alternate({'local': keyed.local, 'forwarded, a proof by key': keyed.forwarded, 'forwarded, by shared secret': secret.forwarded,
                           'signatures': lambda: micro.run('toolserver_federation_proof')}, bench.rounds)
    of = {name: median(found, 'signatures', f'{name}_cpu_us') for name in ('ed25519_sign', 'ed25519_verify', 'proof_by_key', 'proof_by_shared_secret')}
    return {'figures': medians(found), **{f'{name}_us': value for name, value in of.items()}, 'signature_us': of['ed25519_sign'] + of['ed25519_verify'],
            'proof_us': more(found, 'forwarded, a proof by key', 'forwarded, by shared secret', 'nodes_us'),
            'hop_us': {name: more(found, name, 'local', 'p50_us') for name in ('forwarded, a proof by key', 'forwarded, by shared secret')}}


def show(found):
    print(f'\n{"calls between two nodes":32}{"p50 us":>10}{"64: calls/s":>14}{"CPU of both, us":>18}')
    for name, row in found['figures'].items():
        if 'p50_us' in row:
            print(f'{name:32}{row["p50_us"]["median"]:10.1f}{row["many_per_second"]["median"]:14,.0f}{row["nodes_us"]["median"]:18.1f}')
    print(f'one Ed25519 signature: made {found["ed25519_sign_us"]:.1f} us, checked {found["ed25519_verify_us"]:.1f} us; a proof made and taken '
          f'{found["proof_by_key_us"]:.1f} us, by the shared secret {found["proof_by_shared_secret_us"]:.1f} us; '
          f'in the service the key costs {found["proof_us"]:.1f} us more than the secret: {found["proof_us"] / found["signature_us"]:.2f} times a signature')


def targets(found):
    by = found['hop_us']
    return [Target('forwarded: CPU of a proof by key over one by secret (one signature)', found['proof_us'], 1.25 * found['signature_us'], 'us'),
            Target('forwarded: p50 that a hop adds, no signature (the link alone)', by['forwarded, by shared secret'], 60, 'us'),
            Target('forwarded: p50 that a hop adds, with a proof a call', by['forwarded, a proof by key'], 60 + found['signature_us'], 'us')]
