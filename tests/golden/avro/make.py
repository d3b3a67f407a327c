"""Writes the files that a foreign writer made: python3 make.py

Needs fastavro 1.13 (pip install fastavro cramjam backports.zstd).
"""
import json
import pathlib

import fastavro

HERE = pathlib.Path(__file__).parent
SCHEMA = json.loads((HERE / "everything.avsc").read_text())


def record(i):
    return {
        "flag": i % 2 == 0,
        "small": -i,
        "big": i * 10**15,
        "single": i + 0.5,
        "double": i + 0.25,
        "blob": bytes([i, 0, 255]),
        "text": "caf\u00e9 %d" % i,
        "color": ["RED", "GREEN"][i % 2],
        "hash": bytes([i] * 4),
        "list": list(range(i)),
        "dict": {"a": i, "b": -i},
        "maybe": None if i % 2 else "there",
        "turned": i if i % 2 else None,
        "nothing": None,
        "pairs": [{"key": k, "value": bytes([k])} for k in range(i)],
        "next": {"deeper": i, "next": None} if i == 2 else None,
    }


for codec in ["null", "deflate", "snappy", "zstandard"]:
    with open(HERE / f"fastavro_{codec}.avro", "wb") as out:
        fastavro.writer(out, SCHEMA, [record(i) for i in range(4)], codec=codec,
                        metadata={"note": "kept"}, sync_marker=bytes(range(16)))
