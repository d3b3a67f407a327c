"""Changes of what a table is, by PyIceberg."""
import pyarrow as pa
from pyiceberg import types
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.sorting import SortField, SortOrder
from pyiceberg.transforms import (BucketTransform, DayTransform, HourTransform, IdentityTransform, MonthTransform,
                                  TruncateTransform, YearTransform)

from oracle.duck_shape import MOST_COLUMNS, MOST_TABLES, free_name
from oracle.iceberg_rows import client, load
from oracle.reading import bag
from oracle.steps import Skip, operation

SIMPLE = (types.BooleanType(), types.IntegerType(), types.LongType(), types.FloatType(), types.DoubleType(),
          types.DecimalType(9, 2), types.DecimalType(18, 4), types.DateType(), types.TimeType(), types.TimestampType(),
          types.TimestamptzType(), types.StringType(), types.UUIDType(), types.BinaryType())
# Why not all: literals.IN_STRUCT.
IN_STRUCT = (types.BooleanType(), types.IntegerType(), types.LongType(), types.DecimalType(9, 2), types.DecimalType(18, 4),
             types.StringType())
NEW_IN_VERSION_3 = (types.TimestampNanoType(), types.GeometryType())
INSTANTS = (DayTransform(), HourTransform(), MonthTransform(), YearTransform(), BucketTransform(3))
TRANSFORMS = {
    'int': (IdentityTransform(), BucketTransform(3), TruncateTransform(10)),
    'long': (IdentityTransform(), BucketTransform(4), TruncateTransform(1000)),
    'string': (IdentityTransform(), BucketTransform(3), TruncateTransform(1)),
    'date': (IdentityTransform(), DayTransform(), MonthTransform(), YearTransform(), BucketTransform(2)),
    'timestamp': INSTANTS, 'timestamptz': INSTANTS, 'boolean': (IdentityTransform(),), 'uuid': (BucketTransform(3),),
    'binary': (BucketTransform(2),), 'decimal(9, 2)': (IdentityTransform(), BucketTransform(3), TruncateTransform(50)),
}
WIDER = {'int': types.LongType(), 'float': types.DoubleType(), 'decimal(9, 2)': types.DecimalType(12, 2)}


def random_type(random, first_id, simple=SIMPLE):
    """A type whose nested fields are numbered from `first_id`; the catalog gives its own numbers."""
    shape = random.random()
    if shape < 0.8:
        return random.choice(simple)
    if shape < 0.87:
        return types.ListType(first_id, random.choice(SIMPLE[:12]), False)
    if shape < 0.93:
        return types.MapType(first_id, types.StringType(), first_id + 1, random.choice(SIMPLE[:12]), False)
    return types.StructType(types.NestedField(first_id, 'a', random.choice(IN_STRUCT), required=False),
                            types.NestedField(first_id + 1, 'b', types.StringType(), required=False))


def partition_field(random, field, number):
    transform = random.choice(TRANSFORMS[str(field.field_type)])
    return PartitionField(field.field_id, 1000 + number, transform, f'part_{number}_{field.field_id}')


@operation('pyiceberg.create', 2)
def create(world, random):
    if len(world.tables) >= MOST_TABLES:
        raise Skip('there are tables enough')
    make(world, random, world.schema, world.fresh_name())


def make(world, random, schema, name):
    version = random.choice((2, 3))
    simple = SIMPLE if version == 2 else SIMPLE + NEW_IN_VERSION_3
    fields = [types.NestedField(number, f'i{number}', random_type(random, 100 * number, simple), required=False)
              for number in range(1, random.randint(2, 7))]
    keys = [field for field in fields if str(field.field_type) in TRANSFORMS]
    keys = random.sample(keys, min(len(keys), random.choice((0, 1, 1, 2))))
    spec = PartitionSpec(*(partition_field(random, field, number) for number, field in enumerate(keys)))
    order = SortOrder(*(SortField(field.field_id, transform=IdentityTransform()) for field in keys[:random.randint(0, 1)]))
    with client(world, f'create {name} in version {version} {Schema(*fields)} partitioned by {spec}'):
        world.catalog.create_table((schema, name), Schema(*fields), partition_spec=spec, sort_order=order,
                                   properties={'format-version': str(version)})
        world.add(name, schema)


@operation('pyiceberg.recreate', 1)
def recreate(world, random):
    """Dropped and made again under its name."""
    table = world.pick(random)
    with client(world, f'drop {table.name}'):
        world.catalog.drop_table(world.identifier(table))
        world.tables.remove(table)
    make(world, random, table.schema, table.name)


@operation('pyiceberg.create_with_rows', 1)
def create_with_rows(world, random):
    """Staged: the table and its first rows come in one commit."""
    if len(world.tables) >= MOST_TABLES:
        raise Skip('there are tables enough')
    name = world.fresh_name()
    count = random.choice((1, 20))
    rows = pa.table({'n': [random.randint(-9, 9) for _ in range(count)], 's': [f's{n % 3}' for n in range(count)]})
    schema = Schema(types.NestedField(1, 'n', types.LongType(), required=False),
                    types.NestedField(2, 's', types.StringType(), required=False))
    spec = PartitionSpec(*random.choice(((), (PartitionField(2, 1000, IdentityTransform(), 's'),))))
    with client(world, f'create {name} with {rows.to_pylist()} partitioned by {spec}'):
        with world.catalog.create_table_transaction((world.schema, name), schema, partition_spec=spec) as change:
            change.append(rows)
        world.add(name)
        world.expect(world.tables[-1], bag(world, rows, [('n', 'BIGINT'), ('s', 'VARCHAR')]))


@operation('pyiceberg.drop', 1)
def drop(world, random):
    table = world.pick(random)
    with client(world, f'drop {table.name}'):
        world.catalog.drop_table(world.identifier(table))
        world.tables.remove(table)


@operation('pyiceberg.rename', 1)
def rename(world, random):
    table = world.pick(random)
    """Also into another namespace, and back."""
    schema = random.choice((table.schema, *world.schemas()))
    name = world.fresh_name() + random.choice(('', ' ü', '_y'))
    with client(world, f'rename {table.name} to {schema}.{name}'):
        # Not by PyIceberg, which loads the table afterwards: it may be one that is not shown.
        world.rest.post('tables/rename', {'source': {'namespace': [table.schema], 'name': table.name},
                                          'destination': {'namespace': [schema], 'name': name}})
        table.is_called(world.snapshot(), schema, name)


@operation('pyiceberg.add_column', 2)
def add_column(world, random):
    table = world.pick(random)
    loaded = load(world, table)
    if len(loaded.schema().fields) >= MOST_COLUMNS:
        raise Skip('there are columns enough')
    structs = [field.name for field in loaded.schema().fields if field.field_type.is_struct]
    path = (random.choice(structs), f'n{random.randint(0, 99)}') if structs and random.random() < 0.5 \
        else (free_name(world, random, table),)
    kind = random_type(random, 5000) if len(path) == 1 else random.choice(IN_STRUCT)
    with client(world, f'add the column {path} {kind} to {table.name}'):
        with loaded.update_schema() as change:
            change.add_column(path, kind)


@operation('pyiceberg.drop_column', 1)
def drop_column(world, random):
    """A column, or a field of a struct. The last one is refused: DuckDB could not open what is left."""
    table = world.pick(random)
    loaded = load(world, table)
    path, siblings = random.choice([
        *(((field.name,), loaded.schema().fields) for field in loaded.schema().fields),
        *(((field.name, inner.name), field.field_type.fields) for field in loaded.schema().fields if field.field_type.is_struct
          for inner in field.field_type.fields)])

    def send():
        with loaded.update_schema(allow_incompatible_changes=True) as change:
            change.delete_column(path)
    with client(world, f'drop the column {path} of {table.name}'):
        if len(siblings) == 1:
            world.demand_not_offered('without columns' if len(path) == 1 else 'without fields', send)
        else:
            send()


@operation('pyiceberg.rename_column', 1)
def rename_column(world, random):
    table = world.pick(random)
    loaded = load(world, table)
    name, other = random.choice(loaded.schema().fields).name, free_name(world, random, table)
    with client(world, f'rename the column {name} of {table.name} to {other}'):
        with loaded.update_schema() as change:
            change.rename_column((name,), other)


@operation('pyiceberg.widen', 1)
def widen(world, random):
    table = world.pick(random)
    loaded = load(world, table)
    usable = [field for field in loaded.schema().fields if str(field.field_type) in WIDER]
    if not usable:
        raise Skip('no column can be widened')
    field = random.choice(usable)
    with client(world, f'widen the column {field.name} of {table.name}'):
        with loaded.update_schema() as change:
            change.update_column((field.name,), field_type=WIDER[str(field.field_type)])
        table.widened = True
        world.renew()


@operation('pyiceberg.move_column', 1)
def move_column(world, random):
    table = world.pick(random)
    loaded = load(world, table)
    name = random.choice(loaded.schema().fields).name
    with client(world, f'move the column {name} of {table.name} to the front'):
        with loaded.update_schema() as change:
            change.move_first((name,))


@operation('pyiceberg.change_spec', 2)
def change_spec(world, random):
    table = world.pick(random)
    loaded = load(world, table)
    present = [field.name for field in loaded.spec().fields]
    usable = [field for field in loaded.schema().fields if str(field.field_type) in TRANSFORMS]
    if not present and not usable:
        raise Skip('no column to partition by')
    with client(world, f'change the partitions of {table.name}'):
        with loaded.update_spec() as change:
            if present and (not usable or random.random() < 0.5):
                change.remove_field(random.choice(present))
            else:
                field = random.choice(usable)
                transform = random.choice(TRANSFORMS[str(field.field_type)])
                change.add_field(field.name, transform, f'p{random.getrandbits(20):x}')


@operation('pyiceberg.change_order', 1)
def change_order(world, random):
    table = world.pick(random)
    loaded = load(world, table)
    usable = [field for field in loaded.schema().fields if str(field.field_type) in TRANSFORMS]
    if not usable:
        raise Skip('no column to sort by')
    field = random.choice(usable)
    with client(world, f'sort {table.name} by {field.name}'):
        with loaded.update_sort_order() as change:
            change.asc(field.name, IdentityTransform())


@operation('pyiceberg.properties', 1)
def properties(world, random):
    table = world.pick(random)
    loaded = load(world, table)
    with client(world, f'set and remove properties of {table.name}'):
        with loaded.transaction() as change:
            change.set_properties({'owner': "it's ü", f'key{random.randint(0, 3)}': 'x'})
            if 'owner' in loaded.properties:
                change.remove_properties('owner')


@operation('pyiceberg.comment', 2)
def comment(world, random):
    """Of the table or of a column; perhaps with one of DuckDB's there, which is the same one."""
    table = world.pick(random)
    loaded = load(world, table)
    text = random.choice(("it's ü", 'a text', '', None))
    if random.random() < 0.5:
        if text is None and 'comment' not in loaded.properties:
            raise Skip('PyIceberg removes no property that is not there')
        with client(world, f'comment on {table.name}: {text!r}'):
            with loaded.transaction() as change:
                if text is None:
                    change.remove_properties('comment')
                else:
                    change.set_properties(comment=text)
        return
    name = random.choice(loaded.schema().fields).name
    with client(world, f'comment on the column {name} of {table.name}: {text!r}'):
        with loaded.update_schema() as change:
            change.update_column((name,), doc=text)


@operation('pyiceberg.tag', 1)
def tag(world, random):
    table = world.pick(random)
    loaded = load(world, table)
    if not loaded.metadata.snapshots:
        raise Skip('no snapshot')
    named = random.choice(sorted(snapshot.snapshot_id for snapshot in loaded.metadata.snapshots))
    with client(world, f'tag a snapshot of {table.name}'):
        loaded.manage_snapshots().create_tag(named, f'tag{random.randint(0, 9)}').commit()
