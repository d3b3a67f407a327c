"""Reads the golden Arrow streams with pyarrow and compares every value."""

import datetime as dt
import decimal
import math
import pathlib

import pyarrow as pa

HERE = pathlib.Path(__file__).parent
UTC = dt.timezone.utc


def read(name):
    with pa.ipc.open_stream((HERE / name).read_bytes()) as reader:
        table = reader.read_all()
    table.validate(full=True)
    return table


def check_types():
    table = read("types.arrows")
    nanoseconds = table["ts_ns"].cast(pa.int64()).to_pylist()
    assert nanoseconds == [1709208000_123456789, None, 0], nanoseconds
    first, nulls, last = table.drop_columns(["ts_ns"]).to_pylist()
    assert all(value is None for value in nulls.values()), nulls
    span = first.pop("span")
    assert (span.months, span.days, span.nanoseconds) == (1, 2, 3_000_000_000), span
    assert first == {
        "bool": True, "i8": 1, "i16": 2, "i32": 3, "i64": 4, "u8": 5, "u16": 6, "u32": 7, "u64": 8,
        "f32": 1.5, "f64": 2.5, "text": "one", "bytes": b"a\x00b", "dec": decimal.Decimal("12.34"),
        "date": dt.date(2024, 2, 29), "time": dt.time(12, 34, 56, 789000),
        "ts_us": dt.datetime(2024, 2, 29, 12, 0, 0, 250000),
        "ts_tz": dt.datetime(2024, 2, 29, 10, tzinfo=UTC),
        "ts_s": dt.datetime(2024, 2, 29, 12), "ts_ms": dt.datetime(2024, 2, 29, 12, 0, 0, 123000),
        "list": [1, None, 3], "struct": {"x": 1, "y": "z"}, "map": [("k", 1)], "fixed": [1, 2],
        "nested": [["a"], []],
    }, first
    assert math.isnan(last.pop("f64"))
    assert last.pop("span").days == -1
    assert last == {
        "bool": False, "i8": -1, "i16": -2, "i32": -3, "i64": -4, "u8": 0, "u16": 0, "u32": 0,
        "u64": 2**64 - 1, "f32": math.inf, "text": "a longer text", "bytes": b"\xff",
        "dec": decimal.Decimal("-0.01"), "date": dt.date(1969, 12, 31), "time": dt.time(0),
        "ts_us": dt.datetime(1969, 12, 31, 23, 59, 59), "ts_tz": dt.datetime(1970, 1, 1, tzinfo=UTC),
        "ts_s": dt.datetime(1970, 1, 1), "ts_ms": dt.datetime(1970, 1, 1),
        "list": [], "struct": {"x": None, "y": None}, "map": [], "fixed": [3, None], "nested": None,
    }, last
    assert table.schema.field("dec").type == pa.decimal128(9, 2)
    assert table.schema.field("ts_tz").type.tz == "UTC"


def check_cut():
    table = read("cut.arrows")
    assert table.column("i").to_pylist() == list(range(5000))
    assert table.column("s").to_pylist() == [None if i % 3 == 0 else f"row {i}" for i in range(5000)]
    assert table.column("i").num_chunks == 3


def check_empty():
    table = read("empty.arrows")
    assert table.num_rows == 0
    assert table.schema.names == ["a", "b"]
    assert table.schema.field("b").type == pa.string()


if __name__ == "__main__":
    check_types()
    check_cut()
    check_empty()
    print("ok")
