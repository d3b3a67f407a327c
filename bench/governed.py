"""What governance costs: loads under masks beside loads of a table without any, an append to a masked table of many files
beside DuckDB's rewrite of what was appended, and a scan of masked files beside one of the files themselves.

All that is compared takes turns in short rounds (turns.py). Loads are measured with few policies in the catalog and with
many, which come and go within each round; over few connections and over many, since a governed load waits for its line
in the audit trail, and those that wait together share it; and once more with PostgreSQL's fsync off, which tells what of
the difference is the disk that its log lies on. The log is flushed before each governed answer: no load is faster.
"""
import contextlib
import statistics
import time

import requests
from pyiceberg.catalog import load_catalog

import copies
import limits
import load
import measure
from lake_clients import duck
from machine import load_average
from servers import beside
from stack import postgres
from turns import in_turn, ratio, told

FILES, QUICK_FILES = 1_000, 20  # of the masked table
POLICIES, TAGS = 1_000, 10_000
MASK = "left(v, 2) || '***'"
# A token's roles come from its client.
CLIENTS = {'admin': '*|admin', 'reader': f'ns:{measure.NAMESPACE}:r|reader', 'steward': f'ns:{measure.NAMESPACE}:r|steward'}
SETTINGS = {'LAKEPROXY_OAUTH_CLIENTS': ','.join(f'{name}:s|{rest}' for name, rest in CLIENTS.items()),
            'LAKEPROXY_OAUTH_JWT_SECRET': 'for benches alone: 32 bytes and more of it', 'LAKEPROXY_REQUIRE_AUTH': '1'}
KEYS = {'X-Iceberg-Access-Delegation': 'vended-credentials'}
# What is loaded, and by whom: each table has one file and the same columns.
LOADS = {'no policy': ('free', 'reader', {}), 'lifted by a role': ('told', 'steward', {}), 'cooperative': ('told', 'reader', {}),
         'files': ('kept', 'reader', {}), 'no policy, keys': ('free', 'reader', KEYS), 'cooperative, keys': ('told', 'reader', KEYS),
         'files, keys': ('kept', 'reader', KEYS)}
BASE = {name: 'no policy, keys' if name.endswith('keys') else 'no policy' for name in LOADS}
CONNECTIONS, QUICK_CONNECTIONS = (8, 64, 256), (8,)
ROUNDS, QUICK_ROUNDS, SLICE = 7, 2, 1  # SLICE: seconds
LEAST_RATE, LEAST_AMONG_MANY, MOST_TIMES, MOST_SCAN = 0.8, 0.95, 2, 1.1  # targets


def figures(servers, quick):
    ours = servers.lakeproxy_catalog()
    ours.client().create_namespace_if_not_exists(measure.NAMESPACE)
    writer = duck.connect_lake(ours.lake)
    rounds, connections = (QUICK_ROUNDS, QUICK_CONNECTIONS) if quick else (ROUNDS, CONNECTIONS)
    with beside(servers.stack, 'governed', SETTINGS) as server:
        bench = Governed(server, servers.stack.postgres, writer, QUICK_FILES if quick else FILES)
        bench.make_tables()
        found = {'files': bench.files, 'flush_ms': limits.postgres_commit_ms(servers.stack.postgres),
                 'loads': {str(each): bench.loads(each, rounds) for each in connections}}
        with no_flush(servers.stack.postgres):
            found['no_flush_ms'] = limits.postgres_commit_ms(servers.stack.postgres)
            found['loads_without_flush'] = {'8': bench.loads(8, rounds)}
        found['scans'] = bench.scans(rounds)
        # Either server may make a copy.
        found.update(bench.appends([server.pid, servers.processes(ours)['lakeproxy']], 2 if quick else copies.ROUNDS))
    return {**found, 'load_average': load_average()}


@contextlib.contextmanager
def no_flush(database):
    def configure(change):
        database.query(postgres.DATABASE, change)
        database.query(postgres.DATABASE, 'SELECT pg_reload_conf()')
        time.sleep(0.5)

    configure('ALTER SYSTEM SET fsync = off')
    try:
        yield
    finally:
        configure('ALTER SYSTEM RESET fsync')


class Governed:
    """A server with clients, its policies, and the tables that they reach or not."""

    def __init__(self, server, database, writer, files):
        self.server, self.database, self.writer, self.files = server, database, writer, files
        self.tokens = {name: self.token(name) for name in CLIENTS}

    def token(self, name):
        body = {'grant_type': 'client_credentials', 'client_id': name, 'client_secret': 's'}
        answer = requests.post(f'{self.server.uri()}/v1/oauth/tokens', data=body, timeout=30)
        return {'Authorization': f'Bearer {answer.json()["access_token"]}'}

    def url(self, table):
        return f'{self.server.uri()}/v1/lake/namespaces/{measure.NAMESPACE}/tables/{table}'

    def post(self, collection, **body):
        answer = requests.post(f'{self.server.uri()}/v1/lake/governance/{collection}', json={name.replace('_', '-'): value for name, value in body.items()},
                               headers=self.tokens['admin'], timeout=60)
        if answer.status_code not in (200, 201):
            raise RuntimeError(f'{collection}: {answer.status_code} {answer.text[:500]}')

    def mask(self, name, table, in_files):
        self.post('masking-policies', name=name, signature='(v VARCHAR)', body=MASK, unmasked_roles=['steward'], file_layer_masking=in_files)
        self.post('policy-attachments', policy_kind='masking', policy_name=name, target_kind='column', schema=measure.NAMESPACE, object=table, column='v')

    def make_tables(self):
        for name in ('free', 'told', 'kept'):
            self.writer.execute(f'CREATE TABLE lake.{measure.NAMESPACE}.{name} (n BIGINT, v VARCHAR)')
            self.writer.execute(f'INSERT INTO lake.{measure.NAMESPACE}.{name} SELECT n, md5(n::VARCHAR) FROM range(1000) r(n)')
        self.writer.execute(f'CREATE TABLE lake.{measure.NAMESPACE}.many (n BIGINT, v VARCHAR, p INTEGER)')
        self.writer.execute(f'ALTER TABLE lake.{measure.NAMESPACE}.many SET PARTITIONED BY (p)')
        self.writer.execute(f'INSERT INTO lake.{measure.NAMESPACE}.many SELECT n, md5(n::VARCHAR), n % {self.files} FROM range({self.files * 1000}) r(n)')
        # What the many policies are about.
        self.writer.execute(f'CREATE TABLE lake.{measure.NAMESPACE}.tagged ({", ".join(f"c{n} VARCHAR" for n in range(100))})')
        self.mask('told', 'told', False)
        self.mask('kept', 'kept', True)
        self.mask('many', 'many', True)
        for table, who in (('free', 'reader'), ('told', 'steward'), ('told', 'reader'), ('kept', 'reader'), ('many', 'reader'), ('many', 'steward')):
            copies.ready(self.url(table), self.tokens[who])

    def add_many(self):
        self.database.query(postgres.DATABASE, f"""
INSERT INTO lakeproxy_tag SELECT 'bench', 'tag_' || n FROM generate_series(1, {TAGS}) n;
INSERT INTO lakeproxy_masking_policy SELECT 'bench_' || n, signature, body, compiled, unmasked_roles, file_layer_masking
  FROM lakeproxy_masking_policy, generate_series(1, {POLICIES}) n WHERE name = 'told';
INSERT INTO lakeproxy_policy_attachment (policy_kind, policy_name, target_kind, tag_namespace, tag_name)
  SELECT 'masking', 'bench_' || n, 'tag', 'bench', 'tag_' || n FROM generate_series(1, {POLICIES}) n;
INSERT INTO lakeproxy_object_tag (tag_namespace, tag_name, object_kind, object_id, column_id)
  SELECT 'bench', 'tag_' || n, 'column', (SELECT max(table_id) FROM ducklake_table WHERE table_name = 'tagged'), 1 + n % 100
    FROM generate_series(1, {TAGS}) n""")

    def remove_many(self):
        self.database.query(postgres.DATABASE, """
DELETE FROM lakeproxy_object_tag WHERE tag_namespace = 'bench';
DELETE FROM lakeproxy_policy_attachment WHERE tag_namespace = 'bench';
DELETE FROM lakeproxy_masking_policy WHERE name LIKE 'bench\\_%';
DELETE FROM lakeproxy_tag WHERE namespace = 'bench'""")

    def load(self, name, connections):
        table, who, more = LOADS[name]
        headers = [f'{key}: {value}' for key, value in {**self.tokens[who], **more}.items()]
        return load.get(f'{self.url(table)}?snapshots=refs', connections, SLICE, headers=headers)

    def loads(self, connections, rounds):
        """Loads a second with few policies and with many, each with its ratios."""
        found = {'few': {name: [] for name in LOADS}, 'many': {name: [] for name in LOADS}}
        p50 = {name: [] for name in LOADS}
        for n in range(rounds):
            # The rest of what a change of policies costs is no load's: each is asked once before.
            for size in ('few', 'many') if n % 2 == 0 else ('many', 'few'):
                if size == 'many':
                    self.add_many()
                for table, who, _ in LOADS.values():
                    copies.ready(self.url(table), self.tokens[who])
                taken = in_turn({name: lambda name=name: self.load(name, connections) for name in LOADS}, 1)
                for name, (one,) in taken.items():
                    found[size][name].append(one.per_second)
                    if size == 'few':
                        p50[name].append(one.p50_ms)
                if size == 'many':
                    self.remove_many()
        rates = {name: statistics.median(each) for name, each in found['few'].items()}
        return {'rates': found, 'median_rates': rates, 'p50_ms': {name: statistics.median(each) for name, each in p50.items()},
                'governed': {name: ratio(found['few'][name], found['few'][base]) for name, base in BASE.items() if name != base},
                'among_many': {name: ratio(found['many'][name], found['few'][name]) for name in LOADS}}

    def scans(self, rounds):
        """Seconds of PyIceberg for all rows of the table of many files: masked, and as they are."""
        def scan(who):
            client = load_catalog('bench', type='rest', uri=self.server.uri(), warehouse='lake', token=self.tokens[who]['Authorization'].split()[1],
                                  **{f'header.{name}': value for name, value in KEYS.items()})
            table = client.load_table(f'{measure.NAMESPACE}.many')
            began = time.monotonic()
            rows = table.scan().to_arrow()
            taken = time.monotonic() - began
            if len(rows) != self.files * 1000:
                raise RuntimeError(f'{who}: {len(rows)} rows')
            return taken

        taken = in_turn({'masked': lambda: scan('reader'), 'base': lambda: scan('steward')}, rounds)
        return {'s': {name: statistics.median(each) for name, each in taken.items()}, 'ratio': ratio(taken['masked'], taken['base'])}

    def appends(self, pids, rounds):
        made, anew, exports = [], [], []
        for n in range(rounds):
            before = self.exports()
            copies.insert(self.writer, 'many', str(n), lambda: made.append(copies.spent(pids)))
            copies.ready(self.url('many'), self.tokens['reader'], lambda metadata, files=self.files + n + 1: total(metadata) == files)
            made[n] = copies.since(pids, made[n])
            exports.append(self.exports() - before)
            anew.append(copies.rewrite(self.writer, 'many', f'n, {MASK} AS v, p'))
        return {'copy': copies.medians(made), 'rewrite': copies.medians(anew), 'times': copies.times(made, anew), 'exports': exports}

    def exports(self):
        return int(self.database.query(postgres.DATABASE, "SELECT count(*) FROM lakeproxy_masked_copy WHERE table_id = "
                                       "(SELECT max(table_id) FROM ducklake_table WHERE table_name = 'many')"))


def total(metadata):
    newest = next(one for one in metadata['snapshots'] if one['snapshot-id'] == metadata['current-snapshot-id'])
    return int(newest['summary']['total-data-files'])


def show(found):
    print(f'\n{"governed loads":58}{"a second":>10}{"p50 ms":>9}  {"ratio":24}target')
    for connections, of in found['loads'].items():
        show_loads(f'{connections} connections', of)
    for connections, of in found['loads_without_flush'].items():
        show_loads(f'{connections} connections, no flush', of)
    print(f'a commit of PostgreSQL takes {found["flush_ms"]:.2f} ms, without its flush {found["no_flush_ms"]:.2f} ms')
    files, scans = found['files'], found['scans']
    print(f'{f"scan of {files:,} masked files, to one of the files themselves":77}  {told(scans["ratio"]):24}{met(scans["ratio"]["median"] <= MOST_SCAN, f"at most {MOST_SCAN}")}')
    print(f'{f"export files of an append to {files:,} masked files":77}  {str(found["exports"]):24}{met(set(found["exports"]) == {1}, "1")}')
    print(f'{"its processor time, to that of a rewrite by DuckDB":77}  {told(found["times"]):24}{met(found["times"]["median"] < MOST_TIMES, f"under {MOST_TIMES}")}')
    copies.show_copy('masked', found)


def show_loads(where, of):
    for name in LOADS:
        ratios = of['governed'].get(name)
        told_ratio = f'  {told(ratios):24}{met(ratios["median"] >= LEAST_RATE, f"at least {LEAST_RATE}")}' if ratios else ''
        print(f'{f"{where}: {name}":58}{of["median_rates"][name]:10,.0f}{of["p50_ms"][name]:9.2f}{told_ratio}')
    for name, ratios in of['among_many'].items():
        print(f'{f"{where}: {name}, among {POLICIES:,} policies and {TAGS:,} tags":77}  {told(ratios):24}'
              f'{met(ratios["median"] >= LEAST_AMONG_MANY, f"the same, {LEAST_AMONG_MANY} or more")}')


def met(is_met, target):
    return f'{target}: {"met" if is_met else "not met"}'
