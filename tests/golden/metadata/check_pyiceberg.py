"""Parses the golden metadata, and any file named, with PyIceberg."""

import itertools
import pathlib
import sys

from pyiceberg.schema import Schema, assign_fresh_schema_ids
from pyiceberg.table.metadata import TableMetadataUtil

HERE = pathlib.Path(__file__).parent


def check_metadata(path: pathlib.Path) -> None:
    if path.name == "v3_java_only.json":
        return  # PyIceberg 0.12.0 knows no variant, no bare CRS and no default in nanoseconds
    table = TableMetadataUtil.parse_raw(path.read_text())
    print(f"{path.name}: format {table.format_version}, {len(table.snapshots)} snapshots")


def check_fresh_ids() -> None:
    given = Schema.model_validate_json((HERE / "input/fresh_ids.schema").read_text())
    counter = itertools.count(1)
    fresh = assign_fresh_schema_ids(given, lambda: next(counter))
    expected = Schema.model_validate_json((HERE / "fresh_ids.schema").read_text())
    assert fresh.fields == expected.fields, fresh
    assert set(fresh.identifier_field_ids) == set(expected.identifier_field_ids)
    print("fresh_ids.schema: as Java numbers it")


for name in sys.argv[1:] or sorted(HERE.glob("*.json")):
    check_metadata(pathlib.Path(name))
check_fresh_ids()
