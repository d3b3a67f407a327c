"""The rules of governance, as the specification has them (sections 2.4, 2.5, 3.2 and the composition rules of 4).

Nothing of the catalog is asked here: objects are Python's, and a rename, a drop or a new object of an old name is what it is.
"""
import dataclasses


@dataclasses.dataclass(eq=False)
class Column:
    name: str
    kind: str
    gone: bool = False


@dataclasses.dataclass(eq=False)
class Table:
    schema: str
    name: str
    columns: list
    gone: bool = False
    metadata: str = ''  # where it can be registered from, once it is gone
    folder: str = ''  # where DuckDB put it
    version: int = 2
    homes: set = dataclasses.field(default_factory=set)  # schemas that it was in

    def __post_init__(self):
        self.folder = self.place
        self.homes.add(self.schema)

    def moves(self, schema, name):
        self.schema, self.name = schema, name
        self.homes.add(schema)

    @property
    def shown(self):
        return [column for column in self.columns if not column.gone]

    def column(self, name):
        return next((column for column in self.shown if column.name == name), None)

    @property
    def place(self):
        return f'{self.schema}.{self.name}'


@dataclasses.dataclass(eq=False)
class View:
    schema: str
    name: str
    gone: bool = False

    @property
    def place(self):
        return f'{self.schema}.{self.name}'


@dataclasses.dataclass
class Mask:
    name: str
    kind: str  # of its one argument
    body: str
    lifted: frozenset
    in_files: bool


@dataclasses.dataclass
class Filter:
    name: str
    arguments: tuple  # (name, kind) each
    body: str
    lifted: frozenset


@dataclasses.dataclass(frozen=True)
class Attachment:
    """`target`: a tag's name, a Column, or a Table, with `columns` as the policy's arguments."""
    policy: object
    target: object
    table: object = None
    columns: tuple = ()


@dataclasses.dataclass(frozen=True)
class Plan:
    """What one principal gets of one table."""
    kind: str  # raw, cooperative, file_mask, refused
    masks: dict = dataclasses.field(default_factory=dict)  # {Column: Mask}
    filters: tuple = ()  # (Filter, its columns) each, in the order of names

    @property
    def policies(self):
        return sorted({mask.name for mask in self.masks.values()} | {rule.name for rule, _ in self.filters})


class Rules:
    def __init__(self):
        self.tables = []  # those that are gone, too
        self.tags = set()
        self.masks = {}
        self.filters = {}
        self.attachments = []
        self.assigned = []  # (schema's name, Table or Column; tag) each
        self.grants = set()  # (role, principal)
        self.views = []  # those that are gone, too
        self.object_grants = set()  # (schema's name, Table or View; privilege; role)

    # What is there

    @property
    def live(self):
        return [table for table in self.tables if not table.gone]

    @property
    def live_views(self):
        return [view for view in self.views if not view.gone]

    def table_of(self, column):
        return next(table for table in self.tables if column in table.columns)

    def is_live(self, thing):
        """Whether an attachment's target or a tagged object holds anything up: what stands on a table does while that is there."""
        if isinstance(thing, str):
            return True
        if isinstance(thing, View):
            return not thing.gone
        return not (thing if isinstance(thing, Table) else self.table_of(thing)).gone

    def policy(self, name):
        return self.masks.get(name) or self.filters.get(name)

    def shares_folder(self, table):
        """DuckDB gives a table the folder of its name, which another one may have had before, and may still live in."""
        return any(other.folder == table.folder for other in self.tables if other is not table)

    # Where policies reach: tags accumulate over schema, table and column

    def masks_at(self, thing):
        """Names of the masks that are attached to this very object, by itself or through its tags."""
        tags = {tag for tagged, tag in self.assigned if tagged is thing or tagged == thing}
        return {a.policy for a in self.attachments
                if a.policy in self.masks and (a.target is thing or (isinstance(a.target, str) and a.target in tags))}

    def masks_on(self, table, column):
        return self.masks_at(table.schema) | self.masks_at(table) | self.masks_at(column)

    def filters_on(self, table):
        """(Filter, its columns or None where one is not there) each. A tag's column may be gone: nobody sees more rows by dropping it."""
        tags = {tag for thing, tag in self.assigned if thing is table or thing == table.schema or thing in table.columns}
        for attachment in self.attachments:
            rule = self.filters.get(attachment.policy)
            if rule is None:
                continue
            if attachment.target is table:
                lost = any(column.gone for column in attachment.columns)
                yield rule, None if lost else attachment.columns
            elif isinstance(attachment.target, str) and attachment.target in tags:
                columns = tuple(table.column(name) for name, _ in rule.arguments)
                yield rule, None if None in columns else columns

    # Composition

    def meetings(self, schemas):
        """Where two masks meet: (place, policies) each; a column has at most one."""
        found = [(schema, frozenset(self.masks_at(schema))) for schema in schemas]
        for table in self.live:
            found.append((table, frozenset(self.masks_at(table.schema) | self.masks_at(table))))
            found += [(column, frozenset(self.masks_on(table, column))) for column in table.shown]
        return {(id(place) if not isinstance(place, str) else place, policies) for place, policies in found if len(policies) > 1}

    def roles_of(self, principal, of_token):
        return set(of_token) | {role for role, whose in self.grants if whose == principal}

    def plan(self, table, roles):
        masks, in_files = {}, False
        for column in table.shown:
            applied = [self.masks[name] for name in self.masks_on(table, column) if not self.masks[name].lifted & roles]
            if len(applied) > 1:
                return Plan('refused')
            if applied:
                masks[column] = applied[0]
                in_files = in_files or applied[0].in_files
        filters = []
        for rule, columns in self.filters_on(table):
            if rule.lifted & roles:
                continue
            if columns is None:
                return Plan('refused')
            if (rule, columns) not in filters:
                filters.append((rule, columns))
        if not masks and not filters:
            return Plan('raw')
        filters.sort(key=lambda pair: pair[0].name)
        return Plan('file_mask' if in_files else 'cooperative', masks, tuple(filters))

    def may_commit(self, table, roles):
        """Who is masked in the files does not write, nor does who may not read."""
        return self.plan(table, roles).kind in ('raw', 'cooperative')

    # What a login for the lake itself is shown

    def keeps_to_files(self, table, roles):
        """Whether it is closed to logins: said too often where a column is gone or the table was in another schema, never too seldom."""
        things = [table, *table.columns, *table.homes]
        tags = {tag for thing, tag in self.assigned if any(thing is one or thing == one for one in things)}
        names = {a.policy for a in self.attachments if any(a.target is one for one in things) or (isinstance(a.target, str) and a.target in tags)}
        return any(name in self.masks and self.masks[name].in_files and not self.masks[name].lifted & roles for name in names)

    def is_granted(self, thing, roles):
        """Once any select is granted, also of what is gone: what is granted to one of the roles, and nothing else."""
        selects = [(target, role) for target, privilege, role in self.object_grants if privilege == 'select']
        return not selects or any(role in roles and (target is thing or target == thing.schema) for target, role in selects)

    def login_sees(self, thing, roles, administers):
        """Grants bind everybody but the administrator; masks in files bind that one, too."""
        kept = isinstance(thing, Table) and self.keeps_to_files(thing, roles)
        return not kept and (administers or self.is_granted(thing, roles))

    # Life cycles

    def forget_policy(self, name):
        self.masks.pop(name, None)
        self.filters.pop(name, None)
        self.attachments = [a for a in self.attachments if a.policy != name]

    def forget_tag(self, tag):
        self.tags.discard(tag)
        self.assigned = [pair for pair in self.assigned if pair[1] != tag]

    def holds_policy(self, name):
        return any(a.policy == name and self.is_live(a.target) for a in self.attachments)

    def holds_tag(self, tag):
        return any(a.target == tag for a in self.attachments) or any(t == tag and self.is_live(thing) for thing, t in self.assigned)
