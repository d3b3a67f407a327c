"""What an administrator writes of governance, and what is refused."""
import collections

from oracle.steps import Skip
from policy_oracle import bodies
from policy_oracle.clients import OWNER, PRINCIPALS, ROLES
from policy_oracle.rules import Attachment, Filter, Mask, Table, View
from policy_oracle.steps import operation

MASKS = ('m1', 'm2', 'm3', 'm4')
FILTERS = ('f1', 'f2', 'f3')
TAGS = ('t1', 't2', 't3')
SPACE = 'pii'


def one_of(source, there, all_names):
    """Mostly of those that are there."""
    known = sorted(set(there) & set(all_names))
    return source.choice(known) if known and source.random() < 0.9 else source.choice(all_names)


def lifted_by(source):
    return frozenset((OWNER, *(role for role in ROLES if source.random() < 0.2)))


@operation('policy.mask', 4)
def mask(world, source):
    name, kind = source.choice(MASKS), source.choice(('VARCHAR', 'VARCHAR', 'BIGINT', 'DATE'))
    made = Mask(name, kind, source.choice(bodies.MASKS[kind]), lifted_by(source), source.random() < 0.75)
    status = world.govern('POST', 'masking-policies', {
        'name': name, 'signature': f'(v {kind})', 'body': made.body, 'unmasked-roles': sorted(made.lifted), 'file-layer-masking': made.in_files})
    world.demand(status, 200)
    world.rules.masks[name] = made


@operation('policy.filter', 3)
def row_filter(world, source):
    """Where it is attached to a table, the columns there are its arguments: it keeps their number."""
    name = source.choice(FILTERS)
    arguments, body = source.choice(bodies.FILTERS)
    made = Filter(name, arguments, body, lifted_by(source))
    status = world.govern('POST', 'row-access-policies', {
        'name': name, 'signature': bodies.signature(arguments), 'body': body, 'unmasked-roles': sorted(made.lifted)})
    fits = all(len(a.columns) == len(arguments) for a in world.rules.attachments
               if a.policy == name and isinstance(a.target, Table) and world.rules.is_live(a.target))
    world.demand(status, 200 if fits else 409)
    if fits:
        world.rules.filters[name] = made


@operation('policy.delete', 1)
def delete_policy(world, source):
    name = source.choice(MASKS + FILTERS)
    collection = 'masking-policies' if name in MASKS else 'row-access-policies'
    there = world.rules.policy(name) is not None
    held = there and world.rules.holds_policy(name)
    world.demand(world.govern('DELETE', f'{collection}/{name}'), 409 if held else 200 if there else 404)
    if there and not held:
        world.rules.forget_policy(name)


@operation('tag.create', 2)
def tag(world, source):
    name = source.choice(TAGS)
    world.demand(world.govern('POST', 'tags', {'namespace': SPACE, 'name': name}), 200)
    world.rules.tags.add(name)


@operation('tag.delete', 1)
def delete_tag(world, source):
    name = source.choice(TAGS)
    there, held = name in world.rules.tags, world.rules.holds_tag(name)
    world.demand(world.govern('DELETE', f'tags/{SPACE}/{name}'), 409 if held else 200 if there else 404)
    if there and not held:
        world.rules.forget_tag(name)


# Tags on objects

def some_object(world, source):
    """A schema's name, a table, a view or a column."""
    kind = source.choice(('schema', 'table', 'table', 'view', 'column', 'column', 'column'))
    if kind == 'schema':
        return source.choice(world.schemas)
    if kind == 'view' and world.rules.live_views:
        return source.choice(world.rules.live_views)
    table = world.pick(source)
    return table if kind == 'table' else source.choice(table.shown)


def tagging(world, thing, name):
    body = {'tag-namespace': SPACE, 'tag-name': name}
    if isinstance(thing, str):
        return {'object-kind': 'schema', 'schema': thing, **body}
    if isinstance(thing, (Table, View)):
        kind = 'view' if isinstance(thing, View) else 'table'
        return {'object-kind': kind, 'schema': thing.schema, 'object': thing.name, **body}
    table = world.rules.table_of(thing)
    return {'object-kind': 'column', 'schema': table.schema, 'object': table.name, 'column': thing.name, **body}


def meets(world, change):
    """Whether a change of the model would bring two masks together; then it is taken back."""
    rules = world.rules
    before = rules.meetings(world.schemas)
    kept = list(rules.attachments), list(rules.assigned)
    change(rules)
    if rules.meetings(world.schemas) - before:
        rules.attachments, rules.assigned = kept
        return True
    return False


@operation('tag.assign', 4)
def assign(world, source):
    thing, name = some_object(world, source), one_of(source, world.rules.tags, TAGS)
    status = world.govern('POST', 'object-tags', tagging(world, thing, name))
    if name not in world.rules.tags:
        return world.demand(status, 404)
    already = (thing, name) in world.rules.assigned
    refused = not already and meets(world, lambda rules: rules.assigned.append((thing, name)))
    return world.demand(status, 409 if refused else 200)


@operation('tag.remove', 2)
def unassign(world, source):
    """One that is there, more often than not."""
    there = [(thing, name) for thing, name in world.rules.assigned
             if world.rules.is_live(thing) and not getattr(thing, 'gone', False)]
    if there and source.random() < 0.8:
        pair = source.choice(there)
    else:
        pair = some_object(world, source), source.choice(TAGS)
    world.demand(world.govern('DELETE', 'object-tags', tagging(world, *pair)), 200 if pair in world.rules.assigned else 404)
    if pair in world.rules.assigned:
        world.rules.assigned.remove(pair)


# Attachments

def attaching(world, attachment):
    rules = world.rules
    kind = 'masking' if attachment.policy in MASKS else 'row_access'
    body = {'policy-kind': kind, 'policy-name': attachment.policy}
    if isinstance(attachment.target, str):
        return {**body, 'target-kind': 'tag', 'tag-namespace': SPACE, 'tag-name': attachment.target}
    if isinstance(attachment.target, Table):
        place = {'target-kind': 'table', 'schema': attachment.target.schema, 'object': attachment.target.name}
        return {**body, **place, **({'columns': [column.name for column in attachment.columns]} if attachment.columns else {})}
    table = rules.table_of(attachment.target)
    return {**body, 'target-kind': 'column', 'schema': table.schema, 'object': table.name, 'column': attachment.target.name}


def attach(world, attachment):
    """A policy is at a target once: the same again takes its place."""
    rules = world.rules
    status = world.govern('POST', 'policy-attachments', attaching(world, attachment))
    if rules.policy(attachment.policy) is None or (isinstance(attachment.target, str) and attachment.target not in rules.tags):
        return world.demand(status, 404)
    if isinstance(attachment.target, Table):
        arguments = rules.policy(attachment.policy).arguments
        columns = attachment.columns or tuple(attachment.target.column(name) for name, _ in arguments)
        if None in columns or len(columns) != len(arguments):
            return world.demand(status, 400)
        attachment = Attachment(attachment.policy, attachment.target, columns=columns)

    def change(model):
        model.attachments = [a for a in model.attachments if (a.policy, a.target) != (attachment.policy, attachment.target)]
        model.attachments.append(attachment)
    return world.demand(status, 409 if meets(world, change) else 200)


@operation('attach.column', 6)
def attach_column(world, source):
    attach(world, Attachment(one_of(source, world.rules.masks, MASKS), source.choice(world.pick(source).shown)))


@operation('attach.tag', 4)
def attach_tag(world, source):
    policies = {**world.rules.masks, **world.rules.filters}
    attach(world, Attachment(one_of(source, policies, MASKS + FILTERS), one_of(source, world.rules.tags, TAGS)))


@operation('attach.table', 4)
def attach_table(world, source):
    table, name = world.pick(source), one_of(source, world.rules.filters, FILTERS)
    columns = ()
    if source.random() < 0.4:
        columns = tuple(source.sample(table.shown, min(len(table.shown), source.choice((1, 1, 2)))))
    attach(world, Attachment(name, table, columns=columns))


@operation('attach.remove', 2)
def detach(world, source):
    there = [a for a in world.rules.attachments if world.rules.is_live(a.target) and not getattr(a.target, 'gone', False)]
    if there and source.random() < 0.85:
        chosen = source.choice(there)
    else:
        chosen = Attachment(source.choice(MASKS), source.choice(world.pick(source).shown))
    found = [a for a in world.rules.attachments if (a.policy, a.target) == (chosen.policy, chosen.target)]
    world.demand(world.govern('DELETE', 'policy-attachments', attaching(world, Attachment(chosen.policy, chosen.target))), 200 if found else 404)
    world.rules.attachments = [a for a in world.rules.attachments if a not in found]


@operation('attach.ignored', 1)
def attach_ignored(world, source):
    """What no read would follow."""
    table = world.pick(source)
    place = {'schema': table.schema, 'object': table.name}
    if source.random() < 0.5:
        body = {'policy-kind': 'masking', 'policy-name': source.choice(MASKS), 'target-kind': 'table', **place}
    else:
        body = {'policy-kind': 'row_access', 'policy-name': source.choice(FILTERS), 'target-kind': 'column',
                'column': source.choice(table.shown).name, **place}
    world.demand(world.govern('POST', 'policy-attachments', body), 400)


# Roles

@operation('role.grant', 3)
def grant(world, source):
    role, principal = source.choice(ROLES), source.choice([name for name in PRINCIPALS if name != OWNER])
    world.demand(world.govern('POST', 'role-grants', {'role': role, 'principal': principal}), 200)
    world.rules.grants.add((role, principal))


@operation('role.revoke', 3)
def revoke(world, source):
    if not world.rules.grants:
        raise Skip('no role is granted')
    granted = source.choice(sorted(world.rules.grants))
    if source.random() < 0.15:
        granted = (granted[0], 'nobody')
    there = granted in world.rules.grants
    world.demand(world.govern('DELETE', 'role-grants', {'role': granted[0], 'principal': granted[1]}), 200 if there else 404)
    world.rules.grants.discard(granted)


STRANGERS = collections.OrderedDict({
    'tags': {'namespace': SPACE, 'name': 't9'}, 'role-grants': {'role': 'steward', 'principal': 'bob'},
    'masking-policies': {'name': 'm1', 'signature': '(v VARCHAR)', 'body': 'v', 'unmasked-roles': list(ROLES)}})


@operation('stranger.governs', 1)
def stranger(world, source):
    collection = source.choice(list(STRANGERS))
    who = source.choice([name for name in PRINCIPALS if name != 'admin'])
    world.demand(world.govern('POST', collection, STRANGERS[collection], by=who), 403)
