"""How long masked copies and states stay that no newest state needs: by number, by grace, and by the last use of their masks."""
import json
import re
import secrets
import subprocess

import pytest
import requests
from by_hand import Watched
from faults.servers import own_stack
from lake_clients import duck as duckdb_client
from lake_clients.lake import Lake
from masked import NAMESPACE, PATIENCE_SECONDS, SETTINGS, Governance, Store, as_client
from stack.process import wait_until

NOW = {**SETTINGS, 'LAKEPROXY_MASKED_RETAIN_GRACE_SECONDS': '0'}


def orphans(server):
    """What the removal of orphans would take, as object names."""
    done = subprocess.run([server.binary, 'gc', '--json', '--older-than', '0s'], env=server.environment(), cwd=server.folder,
                          check=False, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return {item['key'] for item in json.loads(done.stdout)['orphans']}


class Table:
    """A masked table, as one server's analyst reads it."""

    def __init__(self, server, duck, store):
        self.server = server
        self.duck = duck
        self.store = store
        self.name = f'kept_{secrets.token_hex(3)}'
        self.place = f'lake.{NAMESPACE}.{self.name}'
        duck.execute(f'CREATE TABLE {self.place} (id BIGINT, ssn VARCHAR)')
        duck.execute(f"CALL lake.set_option('data_inlining_row_limit', 0, table_name => '{self.name}', schema => '{NAMESPACE}')")
        self.governance = Governance(as_client(server, 'admin'))
        self.analyst = as_client(server, 'analyst')
        self.insert(1, 2)
        self.mask("left(v, 1) || '*'")

    def insert(self, *ids):
        self.duck.execute(f'INSERT INTO {self.place} VALUES ' + ', '.join(f"({n}, '{n}-secret')" for n in ids))

    def mask(self, body):
        self.governance.mask(self.name, 'ssn', 'VARCHAR', body)

    def state(self, count):
        """The names of the state's metadata file and of its copies, once this many rows are read."""
        for _ in range(600):
            assert self.analyst.load(self.name).status_code == 200
            table = self.analyst.pyiceberg().load_table(f'{NAMESPACE}.{self.name}')
            tasks = list(table.scan().plan_files())
            if sum(task.file.record_count for task in tasks) == count:
                return self.store.key(table.metadata_location), {self.store.key(task.file.file_path) for task in tasks}
        raise AssertionError(f'the masked table never had {count} rows')


@pytest.fixture
def made(stack, duck, store, governed, request):
    with Watched.beside(stack, **request.param) as server:
        yield Table(server, duck, store)


@pytest.mark.parametrize('made', [{**NOW, 'LAKEPROXY_MASKED_RETAIN_SNAP_DIRS': '2'}], indirect=True)
def test_as_many_states_stay_as_are_set(made):
    states = [made.state(2)[0]]
    for count in (3, 4):
        made.insert(count)
        states.append(made.state(count)[0])
    assert len(set(states)) == 3
    gone = orphans(made.server)
    assert [state in gone for state in states] == [True, False, False]


@pytest.mark.parametrize('made, goes', [(NOW, True), (SETTINGS, False)], indirect=['made'], ids=['no grace', 'an hour'])
def test_a_copy_that_no_newest_state_names_goes_after_its_grace(made, goes):
    _, before = made.state(2)
    made.duck.execute(f'DELETE FROM {made.place} WHERE id = 1')
    _, after = made.state(1)
    assert len(before) == 1 and not before & after
    gone = orphans(made.server)
    assert before <= gone if goes else not before & gone
    assert not after & gone


@pytest.mark.parametrize('made', [{**NOW, 'LAKEPROXY_MASKED_EXPORT_TTL_DAYS': '3'}], indirect=True)
def test_masks_that_nobody_uses_go_after_their_days(stack, made):
    used = f'UPDATE lakeproxy_masked_state SET used_at = now() - interval \'{{}}\' WHERE metadata_file LIKE \'%/{made.name}/%\''
    document, copies = made.state(2)
    made.mask("'other'")
    _, others = made.state(2)
    assert not copies & others
    stack.postgres.query('lake', used.format('2 days 23 hours'))
    made.insert(3)
    _, others = made.state(3)
    assert not (copies | {document}) & orphans(made.server), 'within the days'
    stack.postgres.query('lake', used.format('3 days 1 minute'))
    made.insert(4)
    _, others = made.state(4)
    gone = orphans(made.server)
    assert copies | {document} <= gone and not others & gone


class Idle(Table):
    """A masked table on a lake whose only server makes copies behind each commit, unless its mask is out of use."""

    def __init__(self, stack, duck, store):
        super().__init__(stack.catalog, duck, store)
        self.stack = stack
        self.state(2)
        self.folder = store.key(self.analyst.load(self.name).json()['metadata']['location']) + '/data/'

    def copies(self):
        return len(self.store.under(self.folder))

    def ask(self, sql):
        self.stack.postgres.query('lake', sql)

    def was_used(self, ago):
        """Moves the recorded time of the mask's last use back."""
        self.ask(f"UPDATE lakeproxy_masked_state SET used_at = now() - interval '{ago}' WHERE {self.of_it()}")

    def days_unused(self):
        asked = f"SELECT floor(extract(epoch FROM now() - max(used_at)) / 86400) FROM lakeproxy_masked_state WHERE {self.of_it()}"
        return int(self.stack.postgres.query('lake', asked))

    def of_it(self):
        return f"metadata_file LIKE '%/{self.name}/%'"


@pytest.fixture(scope='module')
def masked_lake():
    """A lake of its own: on that of the other tests it is another server that listens to commits."""
    with own_stack('idle', **SETTINGS) as stack:
        listens = re.compile(r'^lakeproxy_eager_listener 1$', re.MULTILINE)
        assert wait_until(lambda: listens.search(requests.get(f'{stack.catalog.uri()}/metrics', timeout=10).text), 30)
        lake = Lake.of(stack.variables())
        duck = duckdb_client.connect_lake(lake)
        duck.execute(f'CREATE SCHEMA lake.{NAMESPACE}')
        yield lambda: Idle(stack, duck, Store.of(stack, lake))


def become(table, count):
    return wait_until(lambda: table.copies() == count, PATIENCE_SECONDS)


def test_no_copy_is_made_behind_a_commit_for_a_mask_that_nobody_uses(masked_lake):
    idle, used = masked_lake(), masked_lake()
    for table in (idle, used):
        table.insert(3)
        assert become(table, 2), 'while the mask is in use'
    idle.was_used('7 days 1 minute')
    for copies in (3, 4):
        for table in (idle, used):
            table.insert(copies + 1)
        # The server works through commits in their order, and has passed the idle table when it comes to this one.
        assert become(used, copies)
    assert idle.copies() == 2 and idle.days_unused() == 7
    # Who comes back gets all rows, and copies are made behind commits from then on.
    idle.state(5)
    assert idle.copies() == 4 and idle.days_unused() == 0
    idle.insert(6)
    assert become(idle, 5)


def test_copies_are_made_behind_commits_for_some_days_which_are_no_use_of_the_mask(masked_lake):
    table = masked_lake()
    table.was_used('6 days 23 hours')
    for copies in (2, 3):
        table.insert(copies + 1)
        assert become(table, copies)
    assert table.days_unused() == 6
    table.was_used('7 days 1 minute')
    table.insert(5)
    other = masked_lake()
    other.insert(3)
    assert become(other, 2)
    assert table.copies() == 3


@pytest.mark.parametrize('was_read', [True, False], ids=['read', 'never read'])
def test_copies_of_a_mask_that_was_detached_go_after_their_days(masked_lake, was_read):
    """No state of the table comes any more, and nobody asks for the old one: the removal of orphans lets go of it."""
    table, other = masked_lake(), masked_lake()
    if not was_read:  # A reader who went away while the copies were made.
        table.ask(f'DELETE FROM lakeproxy_masked_state WHERE {table.of_it()}')
    table.governance.unmask(table.name, 'ssn')
    raw = table.analyst.pyiceberg().load_table(f'{NAMESPACE}.{table.name}')
    assert sorted(raw.scan().to_arrow()['ssn'].to_pylist()) == ['1-secret', '2-secret']

    def after(ago):
        table.was_used(ago)
        table.ask(f"UPDATE lakeproxy_masked_copy SET made_at = now() - interval '{ago}' WHERE locations::text LIKE '%/{table.name}/%'")
        done = subprocess.run([table.server.binary, 'gc', '--remove', '--older-than', '0s'], check=False, capture_output=True, text=True,
                              env={**table.server.environment(), 'LAKEPROXY_FILE_GRACE': '0'}, cwd=table.server.folder, timeout=120)
        assert done.returncode == 0, done.stderr
        return table.copies()

    assert after('6 days 23 hours') == 1 and after('7 days 1 minute') == 0
    assert other.copies() == 1 and other.state(2)
    assert table.analyst.pyiceberg().load_table(f'{NAMESPACE}.{table.name}').scan().to_arrow().num_rows == 2
