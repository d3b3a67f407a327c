"""Columns of every type that DuckDB and all readers have, and values of them, in DuckDB's SQL."""

EVERY_TYPE = """
  flag BOOLEAN, tiny TINYINT, small SMALLINT, i INTEGER, big BIGINT, f FLOAT, d DOUBLE,
  dec9 DECIMAL(9,2), dec18 DECIMAL(18,4), dec38 DECIMAL(38,10), day DATE, ts TIMESTAMP,
  tstz TIMESTAMPTZ, s VARCHAR, id UUID, raw BLOB, list INTEGER[],
  pair STRUCT(a INTEGER, b VARCHAR), dict MAP(VARCHAR, BIGINT),
  deep STRUCT(xs STRUCT(y VARCHAR[])[])"""

EVERY_VALUE = """
  n % 2 = 0, n % 100, -n, n * 1000, n * 10000000000, n / 7.0, -n / 3.0,
  n / 100.0, n * 1.0001, -n * 100000000.0000000001, DATE '1969-12-25' + n::INTEGER,
  TIMESTAMP '1969-12-31 23:59:59.999999' + n * INTERVAL 1 HOUR,
  TIMESTAMPTZ '2024-02-29 12:00:00+02' + n * INTERVAL 1 MINUTE, 'ü' || n,
  CAST(lpad(hex(n), 8, '0') || '-1111-2222-3333-444455556666' AS UUID), encode('b' || n),
  [n, NULL, -n], {'a': n, 'b': NULL}, MAP {'k' || n: n, 'none': NULL},
  {'xs': [{'y': ['z' || n]}, NULL]}"""

EDGES = """
  (true, -128, -32768, -2147483648, -9223372036854775808, 'nan', '-inf', -9999999.99,
   -99999999999999.9999, -9999999999999999999999999999.9999999999, DATE '0001-01-01',
   TIMESTAMP '0001-01-01', TIMESTAMPTZ '9999-12-31 23:59:59.999999+00', '', UUID '00000000-0000-0000-0000-000000000000',
   ''::BLOB, [], {'a': NULL, 'b': ''}, MAP {}, {'xs': []}),
  (false, 127, 32767, 2147483647, 9223372036854775807, 'inf', 'nan', 9999999.99,
   99999999999999.9999, 9999999999999999999999999999.9999999999, DATE '9999-12-31',
   TIMESTAMP '9999-12-31 23:59:59.999999', TIMESTAMPTZ '0001-01-01 00:00:00+00', repeat('€', 300),
   UUID 'ffffffff-ffff-ffff-ffff-ffffffffffff', '\\xFF\\x00'::BLOB, [NULL], NULL, NULL, NULL)"""
