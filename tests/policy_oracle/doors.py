"""The other ways to a table's files beside the keys of its load: signed requests, planned scans, and logins of DuckDB. Whoever is masked
in the files gets copies through each, or nothing."""
import time

from oracle.steps import Difference
from policy_oracle.reading import key_of
from policy_oracle.world import path_of

PATIENCE_SECONDS = 60
OPEN = ('raw', 'cooperative')


def demand(wanted, answer, where):
    if answer.status_code not in wanted:
        raise Difference('status of another way', f'{where}: the model says {wanted}, the catalog {answer.status_code}: {answer.text[:300]}')


def patiently(ask):
    end = time.monotonic() + PATIENCE_SECONDS
    while (answer := ask()).status_code == 503 and time.monotonic() < end:
        time.sleep(0.05)
    return answer


def sign(world, table, who, kind, metadata_file, base_object, source):
    """`metadata_file`: what the principal's own load names; `base_object`: the table's own, as a key."""
    def ask(key):
        path = source.choice((f'{path_of(table)}/sign', 'aws/s3/sign'))
        uri = f'{world.lake.s3_endpoint}/{world.bucket}/{key}'
        return world.client(who).post(path, {'region': world.lake.s3_region, 'method': 'GET', 'uri': uri, 'headers': {}})
    where = f'{who} has a request for {table.place} signed'
    if world.rules.shares_folder(table):
        return
    demand((200,), ask(key_of(world, metadata_file)), where)
    demand((200,) if kind in OPEN else (403,), ask(base_object), f'{where}: {base_object}')


def planned(world, table, who, kind):
    """Each file is one of the copies, or none is."""
    answer = patiently(lambda: world.client(who).post(f'{path_of(table)}/plan', {}))
    where = f'{who} has a scan of {table.place} planned'
    demand((200,), answer, where)
    for task in answer.json().get('file-scan-tasks', []):
        path = task['data-file']['file-path']
        if ('/metadata/lake/masked/' in path) == (kind in OPEN):
            raise Difference('planned files', f'{where}: {path}')


def login(world, table, who, kind):
    """DuckDB's own way, past every copy."""
    answer = world.client(who).get(f'namespaces/{table.schema}/ducklake-credentials', params={'table': table.name})
    allowed = (200, 403) if world.rules.shares_folder(table) or kind == 'cooperative' else (200,)
    demand(allowed if kind in OPEN else (403,), answer, f'{who} asks for a login to {table.place}')


def check(world, tally, table, who, kind, metadata_file, base_object, source):
    if source.random() < 0.25 and base_object:
        sign(world, table, who, kind, metadata_file, base_object, source)
        tally.doors += 1
    if source.random() < 0.2:
        planned(world, table, who, kind)
        tally.doors += 1
    if source.random() < 0.05:
        login(world, table, who, kind)
        tally.doors += 1
