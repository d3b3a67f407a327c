"""The other ways to a table's files beside the keys of its load: signed requests, planned scans, keys of the gateway, masking views, and
logins of DuckDB. Whoever is masked in the files gets copies through each, or nothing."""
import subprocess
import time

from oracle.steps import Difference
from policy_oracle.clients import PRINCIPALS, VENDED
from policy_oracle.reading import Keys, key_of
from policy_oracle.world import path_of
from stack.postgres import BINARIES

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


MOST_KEPT = 20


def gateway(world, table, who, kind, base_object, source):
    """Its keys say who asks: what they open is asked at each request, also of keys that were given before the policies of now."""
    where = f'{who} has keys of the gateway to {table.place}'
    if not world.rules.shares_folder(table):
        answer = patiently(lambda: world.at_gateway[who].get(path_of(table), headers=VENDED))
        demand((200,), answer, where)
        keys = Keys(world, answer.json()['config'])
        keys.must_get(key_of(world, answer.json()['metadata-location']))
        if (keys.get(base_object) is not None) != (kind in OPEN):
            raise Difference('keys of the gateway', f'{where}: {kind}: {base_object} is {"closed" if kind in OPEN else "open"}')
        world.kept_keys = [*world.kept_keys[-MOST_KEPT:], (table, who, keys, base_object)]
    table, who, keys, base_object = source.choice(world.kept_keys) if world.kept_keys else (None,) * 4
    if table and not table.gone and world.plan(table, who).kind not in OPEN and keys.get(base_object) is not None:
        raise Difference('keys of the gateway', f'those that {who} got to {table.place} before it was masked open {base_object}')


def masking_view(world, table, who, name, same_rows):
    """The caller's own, by its name: nobody else's, and in no list."""
    where = f'{who} loads the view {name} of {table.place}'
    plan = world.plan(table, who)
    answer = world.client(who).get(f'namespaces/{table.schema}/views/{name}')
    demand((200,), answer, where)
    metadata = answer.json()['metadata']
    sql = next(one['sql'] for one in metadata['versions'][-1]['representations'] if one['dialect'] == 'duckdb')
    same_rows('rows of a masking view', plan, table, sql, where)
    for other in PRINCIPALS:
        theirs = world.plan(table, other)
        same = theirs.kind == 'cooperative' and (theirs.masks, theirs.filters) == (plan.masks, plan.filters)
        if same or theirs.kind != 'cooperative':
            demand((200,) if same else (404,), world.client(other).get(f'namespaces/{table.schema}/views/{name}'), f'{other} loads the view of {who}')
    listed = world.client(who).get(f'namespaces/{table.schema}/views').json()['identifiers']
    wanted = sorted(view.name for view in world.rules.live_views if view.schema == table.schema)
    if sorted(one['name'] for one in listed) != wanted:
        raise Difference('views', f'{where}: the model says {wanted}, the catalog {listed}')


SEEN = '''\
SELECT s.schema_name || '.' || o.name FROM ducklake_schema s
  JOIN (SELECT schema_id, table_name AS name, end_snapshot FROM ducklake_table
         UNION ALL SELECT schema_id, view_name, end_snapshot FROM ducklake_view) o USING (schema_id)
 WHERE o.end_snapshot IS NULL AND s.end_snapshot IS NULL'''


def login(world, table, who, kind):
    """DuckDB's own way, past every copy: which tables and views it is shown, and keys for what it may read alone."""
    answer = world.client(who).get(f'namespaces/{table.schema}/ducklake-credentials', params={'table': table.name})
    where, roles = f'{who} asks for a login to {table.place}', world.roles(who)
    closed = world.rules.keeps_to_files(table, roles)
    allowed = (200, 403) if world.rules.shares_folder(table) else (200,)
    demand((403,) if closed or kind not in OPEN else allowed, answer, where)
    if answer.status_code != 200:
        return
    asked = subprocess.run([BINARIES / 'psql', '-w', '-qtAX', '-v', 'ON_ERROR_STOP=1', answer.json()['ducklake_dsn'], '-c', SEEN],
                           check=True, text=True, stdout=subprocess.PIPE)
    shown = sorted(name for name in asked.stdout.split() if name.split('.')[0] in world.schemas)
    sees = {thing.place: world.rules.login_sees(thing, roles, who == 'admin') for thing in (*world.rules.live, *world.rules.live_views)}
    wanted = sorted(place for place, seen in sees.items() if seen)
    if shown != wanted:
        raise Difference('what a login sees', f'{where}: the model says {wanted}, the lake {shown}')
    # No key is cut to a folder that another table had.
    has_keys, may_have = answer.json()['s3'] is not None, sees[table.place]
    if has_keys != may_have and (has_keys or not world.rules.shares_folder(table)):
        raise Difference('keys of a login', f'{where}: it {"sees" if may_have else "does not see"} the table')


def check(world, tally, table, who, kind, metadata_file, base_object, source):
    if source.random() < 0.25 and base_object:
        sign(world, table, who, kind, metadata_file, base_object, source)
        tally.other_ways += 1
    if source.random() < 0.2:
        planned(world, table, who, kind)
        tally.other_ways += 1
    if source.random() < 0.1 and base_object:
        gateway(world, table, who, kind, base_object, source)
        tally.other_ways += 1
    if source.random() < 0.08:
        login(world, table, who, kind)
        tally.other_ways += 1
