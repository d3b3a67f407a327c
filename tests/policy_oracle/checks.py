"""What each step is followed by: somebody reads, and what it gets is what the model says."""
import json
import time

from oracle.steps import Difference
from policy_oracle import access_paths, bodies, reading
from policy_oracle.clients import OWNER, PRINCIPALS, VENDED
from policy_oracle.world import path_of

# A table whose copies are not there yet may answer 503 or show the state before; not for longer.
PATIENCE_SECONDS = 90
PAUSE_SECONDS = 0.03
MASKED_COLUMNS, MASK, ROW_FILTER = 'lakeproxy.masked-columns', 'lakeproxy.mask.', 'iceberg.row-filter'
TYPES = {'VARCHAR': 'string', 'BIGINT': 'long', 'INTEGER': 'int', 'DATE': 'date'}


def bag(rows):
    return sorted(map(repr, rows))


def demand(check, wanted, found, where):
    if wanted != found:
        raise Difference(check, f'{where}: the model says {wanted}, the catalog {found}')


class Checker:
    def __init__(self, world, tally):
        self.world, self.tally = world, tally
        self.tags = []  # (table, what it was the ETag of) and the tag

    def check(self, source):
        """A table that was changed, or any; for somebody, and for the last to be masked in the files."""
        world = self.world
        world.known_rows = {}
        tables = [table for table in dict.fromkeys(world.touched) if not table.gone]
        world.touched = []
        if not tables or source.random() < 0.3:
            tables = [source.choice(world.rules.live)] if world.rules.live else []
        for table in tables:
            who = source.choice([name for name in PRINCIPALS if name != OWNER])
            self.effective(table, who, source)
            self.load(table, who, source)
        self.absent(source)

    def absent(self, source):
        """A name that no table has."""
        gone = [table for table in self.world.rules.tables if table.gone]
        if not gone or source.random() > 0.2:
            return
        table = source.choice(gone)
        if any(other.place == table.place for other in self.world.rules.live):
            return
        who = source.choice(list(PRINCIPALS))
        demand('status of a table that is gone', 404, self.world.client(who).get(path_of(table)).status_code, f'{who}: {table.place}')

    # What the catalog says of policies

    def effective(self, table, who, source):
        world, rules = self.world, self.world.rules
        roles = world.roles(who)
        answer = world.admin.get('governance/effective-policies', params={
            'table': table.place, 'principal': who, 'roles': ','.join(PRINCIPALS[who])})
        where = f'effective-policies of {table.place} for {who}'
        demand('status of effective-policies', 200, answer.status_code, f'{where}: {answer.text[:300]}')
        told = answer.json()
        plan, enforced = rules.plan(table, roles), told['enforcement']
        demand('roles', sorted(roles), sorted(told['roles']), where)
        masks = {column.name: sorted((name, bool(rules.masks[name].lifted & roles)) for name in rules.masks_on(table, column))
                 for column in table.shown if rules.masks_on(table, column)}
        said = {entry['column']: sorted({(policy['name'], policy['bypassed']) for policy in entry['masking_policies']})
                for entry in told['column_masks']}
        demand('column masks', masks, said, where)
        filters = sorted({(rule.name, bool(rule.lifted & roles)) for rule, _ in rules.filters_on(table)})
        demand('row policies', filters, sorted({(policy['name'], policy['bypassed']) for policy in told['row_access_policies']}), where)
        demand('kind of read', plan.kind, enforced['kind'], f'{where}: {enforced.get("reason", "")}')
        demand('masked columns', [column.name for column in table.shown if column in plan.masks], enforced['masked_columns'], where)
        demand('applied policies', plan.policies, sorted(set(enforced['applied_policies'])), where)
        demand('row filter', bool(plan.filters), enforced['row_filter'] is not None, where)
        self.tally.effective += 1
        if enforced['view_sql'] and source.random() < 0.5:
            self.same_rows('rows of view_sql', plan, table, f'{enforced["view_sql"]}', where)

    def same_rows(self, check, plan, table, sql, where):
        world = self.world
        found = world.rows_in(table.schema, sql)
        demand(check, bag(world.rows(bodies.select(plan, table))), bag(found), f'{where}: {sql}')
        self.tally.views += 1

    # What it shows

    def load(self, table, who, source):
        plan = self.world.plan(table, who)
        where = f'{who} loads {table.place}'
        self.tally.loads[plan.kind] += 1
        if plan.kind == 'file_mask':
            self.masked(table, who, plan, where, source)
            return
        answer = self.ask(table, who)
        if plan.kind == 'refused':
            demand('status of a load', 403, answer.status_code, f'{where}: {answer.text[:300]}')
            return
        demand('status of a load', 200, answer.status_code, f'{where}: {answer.text[:300]}')
        self.told(table, plan, answer.json(), where, source)
        self.other_tags(table, plan, who, answer, source)
        view = answer.json()['metadata']['properties'].get('lakeproxy.masking-view-name')
        demand('whether a masking view is told', plan.kind == 'cooperative', view is not None, where)
        if view and source.random() < 0.3:
            access_paths.masking_view(self.world, table, who, view, self.same_rows)
            self.tally.other_ways += 1
        location = answer.json()['metadata-location']
        access_paths.check(self.world, self.tally, table, who, plan.kind, location, reading.key_of(self.world, location), source)
        if source.random() < 0.3:
            self.keys_beside(table, who, source)

    def ask(self, table, who, **request):
        return self.world.client(who).get(path_of(table), **request)

    def told(self, table, plan, body, where, source):
        """Raw files, and what the reader's engine is told to do with them."""
        metadata = body['metadata']
        if '/masked/' in metadata['location']:
            raise Difference('location', f'{where}: {metadata["location"]}')
        demand('columns', [(column.name, TYPES[column.kind]) for column in table.shown], reading.types_of(metadata), where)
        properties = metadata.get('properties', {})
        masked = [column.name for column in table.shown if column in plan.masks]
        demand('told masks', ','.join(masked), properties.get(MASKED_COLUMNS, ''), where)
        demand('told filter', bool(plan.filters), ROW_FILTER in properties, where)
        if plan.kind == 'cooperative' and source.random() < 0.5:
            columns = ', '.join(f'{properties[MASK + c.name]} AS {c.name}' if c in plan.masks else f'"{c.name}"' for c in table.shown)
            self.same_rows('rows of the masks that are told', plan, table,
                           f'SELECT {columns} FROM {table.name} WHERE {properties.get(ROW_FILTER, "true")}', where)

    def masked(self, table, who, plan, where, source):
        """Its copies, once they are there: nothing raw meanwhile, the policies' own rows in the end."""
        world = self.world
        owner = world.owner.get(path_of(table))
        demand('status of a load', 200, owner.status_code, f'{OWNER} loads {table.place}: {owner.text[:300]}')
        base = owner.json()['metadata']
        columns = [(column.name, TYPES[column.kind]) for column in table.shown]
        end, seen = time.monotonic() + PATIENCE_SECONDS, None
        while True:
            answer = self.ask(table, who, headers=VENDED)
            if answer.status_code == 200:
                metadata = answer.json()['metadata']
                keys = self.own_keys(answer.json(), where)
                state = answer.json()['metadata-location']
                if (metadata.get('current-snapshot-id'), reading.types_of(metadata)) == (base.get('current-snapshot-id'), columns):
                    break
                if state != seen:
                    self.nothing_raw(plan, metadata, keys, where)
                    self.tally.stale += 1
                seen = state
            elif answer.status_code == 503:
                self.tally.waits += 1
                if 'Retry-After' not in answer.headers:
                    raise Difference('503', f'{where}: no Retry-After')
            else:
                demand('status of a load', 200, answer.status_code, f'{where}: {answer.text[:400]}')
            if time.monotonic() > end:
                raise Difference('copies', f'{where}: they did not come: {answer.status_code} {answer.text[:600]}')
            time.sleep(PAUSE_SECONDS)
        demand('told masks', [column.name for column in table.shown if column in plan.masks],
               [name for name in metadata['properties'].get(MASKED_COLUMNS, '').split(',') if name], where)
        found = reading.rows_of(world, metadata, keys)
        demand('rows', bag(world.rows(bodies.select(plan, table))), bag(found), where)
        tried = self.nothing_else(base, keys, metadata, where, source)
        access_paths.check(world, self.tally, table, who, plan.kind, answer.json()['metadata-location'], tried, source)
        self.everywhere(table, who, metadata, where)
        self.older_states(table, who, base, source)
        self.other_tags(table, plan, who, answer, source)

    def everywhere(self, table, who, metadata, where):
        """What one server has shown the others have, too: the copies are those of all."""
        for client in self.world.clients[who]:
            answer = client.get(path_of(table))
            demand('status at another server', 200, answer.status_code, f'{where}: {answer.text[:300]}')
            same = answer.json()['metadata']
            demand('state at another server', (metadata.get('current-snapshot-id'), reading.types_of(metadata)),
                   (same.get('current-snapshot-id'), reading.types_of(same)), where)

    def own_keys(self, body, where):
        location = body['metadata']['location']
        if '/metadata/lake/masked/' not in location or not body['metadata-location'].startswith(location + '/'):
            raise Difference('location', f'{where}: {location}, {body["metadata-location"]}')
        return reading.Keys(self.world, body['config'])

    def nothing_raw(self, plan, metadata, keys, where):
        """Of a state before, which has the same masks."""
        masked = set(metadata['properties'].get(MASKED_COLUMNS, '').split(','))
        if masked != {column.name for column in plan.masks}:
            raise Difference('raw values', f'{where}: an older state has masks of {masked}')
        names = [name for name, _ in reading.columns_of(metadata)]
        for row in reading.rows_of(self.world, metadata, keys):
            raw = [value for name, value in zip(names, row) if name in masked and bodies.looks_raw(value)]
            if raw:
                raise Difference('raw values', f'{where}: {raw}')

    def nothing_else(self, base, keys, metadata, where, source):
        """The keys open no object of the table itself. One that was tried."""
        own = reading.key_of(self.world, metadata['location'])
        objects = reading.base_objects(self.world, base['location'], own)
        for key in source.sample(objects, min(len(objects), 2)):
            self.tally.probes += 1
            if keys.get(key) is not None:
                raise Difference('keys', f'{where}: they open {key}')
        return objects[0] if objects else None

    def keys_beside(self, table, who, source):
        """Keys to this table open nothing of one that is masked in the files for the same principal."""
        world = self.world
        others = [other for other in world.rules.live if other is not table and world.plan(other, who).kind == 'file_mask']
        answer = self.ask(table, who, headers=VENDED)
        if answer.status_code == 403 and world.rules.shares_folder(table):
            return
        where = f'{who} asks for keys to {table.place}'
        demand('status of a load with keys', 200, answer.status_code, f'{where}: {answer.text[:300]}')
        keys = reading.Keys(world, answer.json()['config'])
        if keys.get(reading.key_of(world, answer.json()['metadata-location'])) is None:
            raise Difference('keys', f'{where}: they do not open its own metadata')
        for other in others[:1]:
            base = world.owner.get(path_of(other)).json()['metadata']
            objects = reading.base_objects(world, base['location'], None)
            for key in source.sample(objects, min(len(objects), 2)):
                self.tally.probes += 1
                if keys.get(key) is not None:
                    raise Difference('keys', f'{where}: they open {key} of {other.place}')

    def older_states(self, table, who, base, source):
        current = base.get('current-snapshot-id')
        shown = [snapshot['snapshot-id'] for snapshot in base.get('snapshots', []) if snapshot['snapshot-id'] != current]
        if shown and source.random() < 0.3:
            answer = self.ask(table, who, params={'snapshot-id': source.choice(shown)})
            demand('status of an older snapshot', 501, answer.status_code, f'{who}: {table.place}: {answer.text[:300]}')

    def other_tags(self, table, plan, who, answer, source):
        """An ETag of another state or of other masks is no 304."""
        same = json.dumps([table.place, plan.kind, bodies.select(plan, table)])
        others = [tag for made_of, tag in self.tags if made_of != same]
        self.tags = [*self.tags[-20:], (same, answer.headers['ETag'])]
        if others and source.random() < 0.3:
            status = self.ask(table, who, headers={'If-None-Match': source.choice(others)}).status_code
            if status == 304:
                raise Difference('304', f'{who}: {table.place}')
