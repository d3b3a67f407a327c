"""Makes lake.sql: a lake whose every row DuckDB wrote, as a dump of its PostgreSQL schema.

usage: make.py LIBPQ_DSN_OF_AN_EMPTY_DATABASE EXTENSION_FOLDER > lake.sql

Needs the Python package duckdb 1.5.5, the signed extensions ducklake and
postgres_scanner of the same version in EXTENSION_FOLDER, and pg_dump 15. Ids
and paths of files are new at every run; what the test asserts is not.
"""
import pathlib
import subprocess
import sys
import tempfile

import duckdb

DATA_PATH = 's3://lake/data/'  # What the dump says instead of the folder used.

STEPS = """
create schema s1
create table s1.a(i int not null, s varchar, ts timestamp)
comment on table s1.a is 'table comment'
comment on column s1.a.i is 'column comment'
insert into s1.a values (1, 'x', timestamp '2024-01-01')
alter table s1.a set partitioned by (i, day(ts))
insert into s1.a select i % 2, 'y', timestamp '2024-01-01' + interval (i * 15) day from range(12) r(i)
alter table s1.a reset partitioned by
alter table s1.a set sorted by (s asc nulls first, i + 1 desc)
alter table s1.a alter column i drop not null
alter table s1.a alter column i set data type bigint
alter table s1.a add column "we""ird,:x" double
alter table s1.a rename to b
alter table s1.b drop column "we""ird,:x"
create table s1.nested(x struct(a int, b int), l int[], m map(varchar, int))
alter table s1.nested add column x.c varchar
alter table s1.nested rename column x.a to aa
alter table s1.nested drop column x.b
create view s1.v as select 1 as one
create table "q""t,x"(i int)
drop table "q""t,x"
create table s1.inlined(b boolean, f double, s varchar, y blob, u uuid, d date, p decimal(9, 2), l varchar[])
insert into s1.inlined values (true, 'nan', 'h\u00e9', '\\x00\\xFF'::blob, '00000000-0000-0000-0000-000000000001', '2024-02-29', 1.5, ['q', 'r']), (false, '-inf', null, null, null, null, null, null)
delete from s1.inlined where not b
create table s1.grown(i int)
insert into s1.grown select * from range(20)
delete from s1.grown where i = 3
delete from s1.grown where i > 5
alter table s1.grown add column z int default 5
create table s1.flushed(i int)
insert into s1.flushed select * from range(20)
insert into s1.flushed values (100)
insert into s1.flushed values (101)
call ducklake_flush_inlined_data('lk', schema_name => 's1', table_name => 'flushed')
insert into s1.flushed values (102)
create table s1.wide(t timestamp_s, h hugeint)
create table s1.spread(d date, u uuid, s varchar)
alter table s1.spread set partitioned by (bucket(4, u), year(d), month(d), bucket(8, s))
insert into s1.spread select date '2024-01-15' + interval (i * 40) day, uuid(), 's' || i from range(12) r(i)
"""


def main():
    dsn, extensions = sys.argv[1], pathlib.Path(sys.argv[2])
    engine = duckdb.connect()
    for name in ('postgres_scanner', 'ducklake'):
        engine.execute(f"LOAD '{next(extensions.rglob(name + '.duckdb_extension'))}'")
    with tempfile.TemporaryDirectory() as folder:
        engine.execute(f"ATTACH 'ducklake:postgres:{dsn}' AS lk (DATA_PATH '{folder}/', METADATA_SCHEMA 'golden')")
        engine.execute('USE lk')
        for step in STEPS.strip().splitlines():
            engine.execute(step)
        engine.close()
        dump = subprocess.run(['pg_dump', '--inserts', '--rows-per-insert=500', '--no-owner', '--schema=golden', dsn],
                              check=True, capture_output=True, text=True).stdout
        dump = dump.replace(folder + '/', DATA_PATH)
    kept = [line for line in dump.splitlines() if line and not line.startswith(('--', '\\'))]
    print('\n'.join(kept))


main()
