"""Readable and masked copies: what making one costs beside DuckDB's own rewrite of the same file, and what it costs to load a table that has them.

Both sides of a ratio take turns in one run. Of a copy the processors' time counts, of the process that makes it: on a machine with other
work to do it says more than the time that passes, which stands beside it.
"""
import statistics
import time

import requests
from pyiceberg.catalog import load_catalog

import load
import measure
from lake_clients import duck
from machine import load_average, processor_seconds
from servers import beside
from stack import postgres

ROWS = 2_000_000
ROUNDS = 5
FILES = 1_000  # of the masked table
POLICIES, TAGS = 1_000, 10_000
MASK = "left(v, 2) || '***'"
SECRETS = {'admin': '*', 'masked': f'ns:{measure.NAMESPACE}:r', 'plain': f'ns:{measure.NAMESPACE}:r'}
SETTINGS = {'LAKEPROXY_OAUTH_CLIENTS': ','.join(f'{name}:s|{scope}|{name}' for name, scope in SECRETS.items()),
            'LAKEPROXY_OAUTH_JWT_SECRET': 'for benches alone: 32 bytes and more of it', 'LAKEPROXY_REQUIRE_AUTH': '1'}
SOON = 300  # seconds


def figures(servers, seconds):
    return {'readable': readable(servers, seconds), 'masked': masked(servers, seconds), 'load_average': load_average()}


def readable(servers, seconds):
    ours = servers.lakeproxy_catalog()
    ours.client().create_namespace_if_not_exists(measure.NAMESPACE)
    writer = duck.connect_lake(ours.lake)
    pids = [servers.processes(ours)['lakeproxy']]
    copies, rewrites = [], []
    for n in range(ROUNDS):
        name = f'copied_{n}'
        make(writer, name, 'UINTEGER', lambda: copies.append(spent(pids)))
        ready(measure.table_url(ours, name))
        copies[n] = since(pids, copies[n])
        rewrites.append(rewrite(writer, name, 'n, v, u::BIGINT AS u'))
    make(writer, 'plain', 'BIGINT')
    urls = {'copied': measure.table_url(ours, 'copied_0'), 'plain': measure.table_url(ours, 'plain')}
    ready(urls['plain'])
    return {'copy': medians(copies), 'rewrite': medians(rewrites), 'loads_per_second': in_turn(urls, {}, seconds)}


def masked(servers, seconds):
    ours = servers.lakeproxy_catalog()
    writer = duck.connect_lake(ours.lake)
    with beside(servers.stack, 'governed', SETTINGS) as server:
        admin, own, plain = (token(server, name) for name in SECRETS)
        writer.execute(f'CREATE TABLE lake.{measure.NAMESPACE}.many (n BIGINT, v VARCHAR, p INTEGER)')
        writer.execute(f'ALTER TABLE lake.{measure.NAMESPACE}.many SET PARTITIONED BY (p)')
        writer.execute(f"INSERT INTO lake.{measure.NAMESPACE}.many SELECT n, md5(n::VARCHAR), n % {FILES} FROM range({FILES * 1000}) r(n)")
        make(writer, 'free', 'BIGINT')
        govern(server, servers.stack, writer, admin)
        url = {name: f'{server.uri()}/v1/lake/namespaces/{measure.NAMESPACE}/tables/{name}' for name in ('many', 'free')}
        for who in (own, plain):
            for each in url.values():
                ready(each, who)
        scan_s = scans(server, own, plain)
        rates = in_turn({'governed': url['many'], 'ungoverned': url['many']}, {'governed': own, 'ungoverned': plain}, seconds)
        untouched = in_turn({'without a policy': url['free']}, {'without a policy': own}, seconds)
        # Either server may make a copy.
        pids, copies, rewrites = [server.pid, servers.processes(ours)['lakeproxy']], [], []
        for n in range(ROUNDS):
            insert(writer, 'many', str(n), lambda: copies.append(spent(pids)))
            ready(url['many'], own, lambda metadata, files=FILES + n + 1: total(metadata) == files)
            copies[n] = since(pids, copies[n])
            rewrites.append(rewrite(writer, 'many', f'n, {MASK} AS v, p'))
        return {'copy': medians(copies), 'rewrite': medians(rewrites), 'scan_s': scan_s, 'loads_per_second': {**rates, **untouched}}


def make(writer, name, kind, before_commit=lambda: None):
    """A table of one file. What follows the commit is the copy's."""
    writer.execute(f'CREATE TABLE lake.{measure.NAMESPACE}.{name} (n BIGINT, v VARCHAR, u {kind})')
    insert(writer, name, 'n % 1000000', before_commit)


def insert(writer, name, last, before_commit):
    writer.execute('BEGIN')
    writer.execute(f'INSERT INTO lake.{measure.NAMESPACE}.{name} SELECT n, md5(n::VARCHAR), {last} FROM range({ROWS}) r(n)')
    before_commit()
    writer.execute('COMMIT')


def rewrite(writer, name, columns):
    """DuckDB reads the newest file of the table from the store and writes it there again."""
    file = writer.execute(f"SELECT data_file FROM ducklake_list_files('lake', '{name}', schema => '{measure.NAMESPACE}') "
                          'ORDER BY data_file_size_bytes DESC LIMIT 1').fetchone()[0]
    to = file.rsplit('/', 1)[0] + f'/rewritten-{time.monotonic_ns()}'
    began = spent()
    writer.execute(f"COPY (SELECT {columns} FROM read_parquet('{file}')) TO '{to}' (FORMAT parquet)")
    return since((), began)


def spent(pids=()):
    """Seconds that have passed, and that processors took for these processes; of none, for this one."""
    return time.monotonic(), sum(processor_seconds(dict(enumerate(pids))).values()) if pids else time.process_time()


def since(pids, began):
    now = spent(pids)
    return {'s': now[0] - began[0], 'processor_s': now[1] - began[1]}


def medians(found):
    return {name: statistics.median(one[name] for one in found) for name in found[0]}


def ready(url, headers=None, holds=lambda metadata: metadata.get('current-snapshot-id', -1) >= 0):
    """Asks until the table is whole."""
    until = time.monotonic() + SOON
    while True:
        answer = requests.get(url, headers=headers, timeout=60)
        if answer.status_code == 200 and holds(answer.json()['metadata']):
            return
        if answer.status_code not in (200, 503) or time.monotonic() > until:
            raise RuntimeError(f'{url}: {answer.status_code} {answer.text[:500]}')
        time.sleep(0.02)


def total(metadata):
    newest = next(one for one in metadata['snapshots'] if one['snapshot-id'] == metadata['current-snapshot-id'])
    return int(newest['summary']['total-data-files'])


def in_turn(urls, headers, seconds):
    rates = {name: [] for name in urls}
    for _ in range(ROUNDS):
        for name, url in urls.items():
            own = [f'{key}: {value}' for key, value in headers.get(name, {}).items()]
            # The size of the answers is no work of ours: without old snapshots they are alike.
            rates[name].append(load.get(f'{url}?snapshots=refs', 8, seconds, headers=own).per_second)
    return {name: statistics.median(found) for name, found in rates.items()}


def token(server, name):
    body = {'grant_type': 'client_credentials', 'client_id': name, 'client_secret': 's'}
    answer = requests.post(f'{server.uri()}/v1/oauth/tokens', data=body, timeout=30)
    return {'Authorization': f'Bearer {answer.json()["access_token"]}'}


def govern(server, stack, writer, admin):
    """One mask of files that counts, and policies and tags beside it that do not."""
    def post(collection, body):
        answer = requests.post(f'{server.uri()}/v1/lake/governance/{collection}', json=body, headers=admin, timeout=60)
        if answer.status_code not in (200, 201):
            raise RuntimeError(f'{collection}: {answer.status_code} {answer.text[:500]}')

    post('masking-policies', {'name': 'bench', 'signature': '(v VARCHAR)', 'body': MASK, 'unmasked-roles': ['plain'], 'file-layer-masking': True})
    post('policy-attachments', {'policy-kind': 'masking', 'policy-name': 'bench', 'target-kind': 'column', 'schema': measure.NAMESPACE,
                                'object': 'many', 'column': 'v'})
    columns = ', '.join(f'c{n} VARCHAR' for n in range(100))
    writer.execute(f'CREATE TABLE lake.{measure.NAMESPACE}.tagged ({columns})')
    stack.postgres.query(postgres.DATABASE, f"""
INSERT INTO lakeproxy_tag SELECT 'bench', 'tag_' || n FROM generate_series(1, {TAGS}) n;
INSERT INTO lakeproxy_masking_policy SELECT 'bench_' || n, signature, body, compiled, unmasked_roles, file_layer_masking
  FROM lakeproxy_masking_policy, generate_series(2, {POLICIES}) n WHERE name = 'bench';
INSERT INTO lakeproxy_policy_attachment (policy_kind, policy_name, target_kind, tag_namespace, tag_name)
  SELECT 'masking', 'bench_' || n, 'tag', 'bench', 'tag_' || n FROM generate_series(2, {POLICIES}) n;
INSERT INTO lakeproxy_object_tag (tag_namespace, tag_name, object_kind, object_id, column_id)
  SELECT 'bench', 'tag_' || n, 'column', (SELECT max(table_id) FROM ducklake_table WHERE table_name = 'tagged'), 1 + n % 100
    FROM generate_series(1, {TAGS}) n""")


def scans(server, masked_one, plain):
    """Seconds of PyIceberg for all rows of the table of many files: masked, and as they are, in turn."""
    taken = {'masked': [], 'base': []}
    for _ in range(3):
        for name, headers in (('masked', masked_one), ('base', plain)):
            client = load_catalog('bench', type='rest', uri=server.uri(), warehouse='lake', token=headers['Authorization'].split()[1],
                                  **{'header.X-Iceberg-Access-Delegation': 'vended-credentials'})
            table = client.load_table(f'{measure.NAMESPACE}.many')
            began = time.monotonic()
            rows = table.scan().to_arrow()
            taken[name].append(time.monotonic() - began)
            if len(rows) != FILES * 1000:
                raise RuntimeError(f'{name}: {len(rows)} rows')
    return {name: statistics.median(found) for name, found in taken.items()}


def show(found):
    for kind in ('readable', 'masked'):
        copy, anew = found[kind]['copy'], found[kind]['rewrite']
        print(f'\na {kind} copy of {ROWS:,} rows: {copy["processor_s"]:.2f} s of processors ({copy["s"]:.2f} s); DuckDB rewrites the file in '
              f'{anew["processor_s"]:.2f} s ({anew["s"]:.2f} s): {copy["processor_s"] / anew["processor_s"]:.2f} times')
        print('LoadTable a second, 8 connections: ' + ', '.join(f'{name} {rate:,.0f}' for name, rate in found[kind]['loads_per_second'].items()))
    scan = found['masked']['scan_s']
    print(f'a scan of {FILES:,} masked files: {scan["masked"]:.2f} s, of the files themselves {scan["base"]:.2f} s ({scan["masked"] / scan["base"]:.2f} times)')
