"""What the Iceberg specification asks of a table's metadata, whatever rows it shows."""
from pyiceberg.transforms import DayTransform, MonthTransform, VoidTransform, YearTransform
from pyiceberg.types import DateType, DecimalType, DoubleType, FloatType, IntegerType, LongType, TimestampNanoType, TimestampType

from oracle.steps import Difference

LOCAL_DATES = (DateType, TimestampType, TimestampNanoType)


def demand(holds, text):
    if not holds:
        raise Difference('metadata', text)


def check_metadata(loaded):
    metadata = loaded.metadata
    check_ids(metadata)
    check_chain(metadata)
    check_snapshot_log(metadata)
    check_metadata_log(metadata, loaded.metadata_location)
    check_refs(metadata)
    check_statistics(metadata)
    if metadata.format_version >= 3:
        check_row_ids(metadata)


class Told:
    """What a table's ids stood for when they were first seen. They never stand for anything else, and the ids that were
    assigned last never go back."""

    def __init__(self):
        self.tables = {}

    def check(self, metadata):
        told = self.tables.setdefault(metadata.table_uuid, {})
        # Format version 2 has no defaults: an upgrade shows them under the id that the schema has.
        for schema in metadata.schemas:
            same_as_before(told, f'schema {schema.schema_id}', without_defaults(schema.model_dump(by_alias=True, mode='json')))
        for spec in metadata.partition_specs:
            same_as_before(told, f'spec {spec.spec_id}', spec.model_dump(by_alias=True, mode='json')['fields'])
            for field in spec.fields:
                same_as_before(told, f'partition field {field.field_id}', (field.source_id, str(field.transform)))
        for order in metadata.sort_orders:
            same_as_before(told, f'sort order {order.order_id}', order.model_dump(by_alias=True, mode='json')['fields'])
        # An upgrade makes the snapshots again.
        for snapshot in metadata.snapshots:
            same_as_before(told, f'schema of snapshot {snapshot.snapshot_id} in version {metadata.format_version}',
                           snapshot.schema_id)
        for name in ('last_column_id', 'last_partition_id'):
            last = getattr(metadata, name)
            demand(last >= told.get(name, 0), f'{name} was {told.get(name)} and is {last}')
            told[name] = last


def with_left_partitions(before, now):
    """The snapshots of `before` that go since a column of a partition became of another type: they may need a spec that is not
    shown any more (no reader in Java opens a table with a transform that does not take its column), or their manifests hold
    values that are none of the new type."""
    left = {spec.spec_id for spec in now.partition_specs}
    schemas = {schema.schema_id: schema for schema in before.schemas}
    current = next(schema for schema in now.schemas if schema.schema_id == now.current_schema_id)
    gone = [spec for spec in before.partition_specs if spec.spec_id not in left and not takes_types(spec, current)]
    return {snapshot.snapshot_id for snapshot in before.snapshots
            if any(takes_types(spec, schemas[snapshot.schema_id]) for spec in gone)
            or not all(keeps_values(spec, schemas[snapshot.schema_id], current) for spec in before.partition_specs)}


def keeps_values(spec, then, now):
    both = set(then.field_ids) & set(now.field_ids)
    return all(same_values(field.transform, then.find_type(field.source_id), now.find_type(field.source_id))
               for field in spec.fields if field.source_id in both)


def same_values(transform, then, now):
    if then == now or isinstance(transform, VoidTransform):
        return True
    if isinstance(transform, (YearTransform, MonthTransform, DayTransform)):
        return isinstance(then, LOCAL_DATES) and isinstance(now, LOCAL_DATES)
    if isinstance(then, DecimalType) and isinstance(now, DecimalType):
        return then.scale == now.scale and then.precision <= now.precision
    return isinstance(then, IntegerType) and isinstance(now, LongType) or isinstance(then, FloatType) and isinstance(now, DoubleType)


def takes_types(spec, schema):
    return all(field.transform.can_transform(schema.find_type(field.source_id)) for field in spec.fields
               if field.source_id in schema.field_ids)


def same_as_before(told, what, now):
    before = told.setdefault(what, now)
    demand(before == now, f'{what} was {before} and is {now}')


def without_defaults(value):
    if isinstance(value, dict):
        return {key: without_defaults(inner) for key, inner in value.items() if key not in ('initial-default', 'write-default')}
    return [without_defaults(inner) for inner in value] if isinstance(value, list) else value


def check_ids(metadata):
    schemas = [schema.schema_id for schema in metadata.schemas]
    demand(len(set(schemas)) == len(schemas), f'schema ids come twice: {schemas}')
    demand(metadata.current_schema_id in schemas, f'current-schema-id {metadata.current_schema_id} is none of {schemas}')
    highest = max((schema.highest_field_id for schema in metadata.schemas), default=0)
    demand(metadata.last_column_id >= highest, f'last-column-id {metadata.last_column_id} is below field {highest}')
    specs = [spec.spec_id for spec in metadata.partition_specs]
    demand(len(set(specs)) == len(specs), f'spec ids come twice: {specs}')
    demand(metadata.default_spec_id in specs, f'default-spec-id {metadata.default_spec_id} is none of {specs}')
    fields = [field.field_id for spec in metadata.partition_specs for field in spec.fields]
    demand(metadata.last_partition_id >= max(fields, default=999), f'last-partition-id {metadata.last_partition_id} is below {fields}')
    orders = [order.order_id for order in metadata.sort_orders]
    demand(metadata.default_sort_order_id in orders, f'default-sort-order-id {metadata.default_sort_order_id} is none of {orders}')


def check_chain(metadata):
    """Parents are older; numbers grow; nothing is younger than the table says it is."""
    known = {snapshot.snapshot_id: snapshot for snapshot in metadata.snapshots}
    schemas = {schema.schema_id for schema in metadata.schemas}
    demand(len(known) == len(metadata.snapshots), 'a snapshot id comes twice')
    for snapshot in metadata.snapshots:
        demand(snapshot.sequence_number <= metadata.last_sequence_number,
               f'{snapshot.snapshot_id} has sequence number {snapshot.sequence_number}, above last-sequence-number '
               f'{metadata.last_sequence_number}')
        demand(snapshot.schema_id in schemas, f'schema {snapshot.schema_id} of snapshot {snapshot.snapshot_id} is not there')
        parent = known.get(snapshot.parent_snapshot_id)
        if parent is None:
            continue
        demand(parent.sequence_number < snapshot.sequence_number, f'{snapshot.snapshot_id} has no higher number than its parent')
        demand(parent.timestamp_ms <= snapshot.timestamp_ms, f'{snapshot.snapshot_id} is older than its parent')
    numbers = [snapshot.sequence_number for snapshot in metadata.snapshots]
    demand(len(set(numbers)) == len(numbers), f'a sequence number comes twice: {numbers}')


def check_snapshot_log(metadata):
    log = metadata.snapshot_log
    known = {snapshot.snapshot_id for snapshot in metadata.snapshots}
    times = [entry.timestamp_ms for entry in log]
    demand(times == sorted(times), f'snapshot-log goes back in time: {times}')
    unknown = [entry.snapshot_id for entry in log if entry.snapshot_id not in known]
    demand(not unknown, f'snapshot-log names snapshots that are not there: {unknown}')
    if metadata.current_snapshot_id is not None:
        demand(log and log[-1].snapshot_id == metadata.current_snapshot_id, 'snapshot-log does not end with the current snapshot')
        demand(metadata.last_updated_ms >= times[-1], 'last-updated-ms is before the end of snapshot-log')


def check_metadata_log(metadata, location):
    files = [entry.metadata_file for entry in metadata.metadata_log]
    times = [entry.timestamp_ms for entry in metadata.metadata_log]
    demand(times == sorted(times), f'metadata-log goes back in time: {times}')
    demand(len(set(files)) == len(files), f'metadata-log names a file twice: {files}')
    demand(location not in files, f'metadata-log names the present file {location}')


def check_refs(metadata):
    known = {snapshot.snapshot_id for snapshot in metadata.snapshots}
    for name, ref in metadata.refs.items():
        demand(ref.snapshot_id in known, f'ref {name} names snapshot {ref.snapshot_id}, which is not there')
    main = metadata.refs.get('main')
    demand((main.snapshot_id if main else None) == metadata.current_snapshot_id, 'main is not the current snapshot')
    if metadata.current_snapshot_id is not None:
        demand(metadata.current_snapshot_id in known, 'the current snapshot is not there')


def check_statistics(metadata):
    """At most one file of each kind for a snapshot, and none for one that is not shown."""
    known = {snapshot.snapshot_id for snapshot in metadata.snapshots}
    for kind in ('statistics', 'partition_statistics'):
        named = [file.snapshot_id for file in getattr(metadata, kind)]
        demand(len(set(named)) == len(named), f'{kind} name a snapshot twice: {named}')
        demand(known.issuperset(named), f'{kind} of snapshots that are not there: {sorted(set(named) - known)}')


def check_row_ids(metadata):
    """Every snapshot says which ids it gave; none are given twice. Numbers are the lake's snapshot ids."""
    known = {snapshot.snapshot_id: snapshot for snapshot in metadata.snapshots}
    for snapshot in metadata.snapshots:
        name, first, added = snapshot.snapshot_id, snapshot.first_row_id, snapshot.added_rows
        demand(snapshot.sequence_number == name, f'{name} has the sequence number {snapshot.sequence_number}')
        demand(first is not None and added is not None and first >= 0 and added >= 0,
               f'{name} has the first row id {first} and {added} new rows')
        demand(first + added <= metadata.next_row_id, f'{name}: ids end at {first + added}, after {metadata.next_row_id}')
        parent = known.get(snapshot.parent_snapshot_id)
        if parent is not None:
            demand(first >= parent.first_row_id + parent.added_rows, f'{name} gives ids from {first} on, and its parent gave '
                                                                     f'{parent.added_rows} from {parent.first_row_id} on')
