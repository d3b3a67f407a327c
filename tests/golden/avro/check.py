"""Reads the files of our own writer with a foreign reader: python3 check.py"""
import pathlib

import fastavro

HERE = pathlib.Path(__file__).parent
with open(HERE / "fastavro_null.avro", "rb") as file:
    wanted = list(fastavro.reader(file))

for name in ["written_null.avro", "written_deflate.avro"]:
    with open(HERE / name, "rb") as file:
        reader = fastavro.reader(file)
        rows = list(reader)
    assert rows == wanted, name
    assert reader.metadata["note"] == "kept", name
    field = reader.writer_schema["fields"][1]
    assert field["field-id"] == 7, field
    print(name, "is read as it was written")
