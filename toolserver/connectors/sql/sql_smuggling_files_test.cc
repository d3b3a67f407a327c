// Ways to reach a file or the network. None may be touched, not even looked for.

#include <array>

#include "toolserver/connectors/sql/sql_fixture_test.h"

namespace tool::connectors {
namespace {

struct Case {
  const char* name;
  const char* sql;
  const char* fate = "E_POLICY";
};

class SqlSmugglingFilesTest : public SqlTest {
 protected:
  template <std::size_t n>
  void check(const std::array<Case, n>& cases) {
    for (const Case& c : cases) {
      auto answer = query(placed(c.sql));
      EXPECT_EQ(fate(answer), c.fate) << c.name << ": " << text_of(answer);
      EXPECT_EQ(text_of(answer).find(kSecret), std::string::npos) << c.name;
      EXPECT_EQ(watch.take(), 0) << c.name << " touched a file";
    }
  }
};

constexpr auto kReaders = std::to_array<Case>({
    {"read_csv", "SELECT * FROM read_csv('{data}/unloaded.csv')"},
    {"read_csv outside", "SELECT * FROM read_csv('{out}/o.csv')"},
    {"read_csv_auto", "SELECT * FROM read_csv_auto('{data}/unloaded.csv')"},
    {"read_csv list", "SELECT * FROM read_csv(['{data}/t.csv', '{data}/unloaded.csv'])"},
    {"read_csv glob", "SELECT * FROM read_csv('{data}/*.csv')"},
    {"read_csv upper case", "SELECT * FROM READ_CSV('{data}/unloaded.csv')"},
    {"read_csv mixed case", "SELECT * FROM ReAd_CsV('{data}/unloaded.csv')"},
    {"read_csv quoted", "SELECT * FROM \"read_csv\"('{data}/unloaded.csv')"},
    {"read_csv spaced", "SELECT * FROM read_csv   ('{data}/unloaded.csv')"},
    {"read_csv commented", "SELECT * FROM read_csv/* */('{data}/unloaded.csv')"},
    {"read_csv after a line comment", "SELECT * FROM --x\n read_csv('{data}/unloaded.csv')"},
    {"read_csv of main", "SELECT * FROM main.read_csv('{data}/unloaded.csv')"},
    {"read_csv of system.main", "SELECT * FROM system.main.read_csv('{data}/unloaded.csv')"},
    {"read_csv with a parameter", "SELECT * FROM read_csv($1)"},
    {"read_csv with dollar quotes", "SELECT * FROM read_csv($$/etc/passwd$$)"},
    {"read_csv with tagged dollar quotes", "SELECT * FROM read_csv($x$/etc/passwd$x$)"},
    {"read_csv with an escape text", "SELECT * FROM read_csv(E'\\x2fetc\\x2fpasswd')"},
    {"read_csv with chr", "SELECT * FROM read_csv(chr(47) || 'etc/passwd')"},
    {"read_csv aliased", "SELECT t.* FROM read_csv('{data}/unloaded.csv') AS t"},
    {"read_csv named like a table", "SELECT * FROM read_csv('{data}/unloaded.csv') u"},
    {"read_parquet", "SELECT * FROM read_parquet('{data}/x.parquet')"},
    {"parquet_scan", "SELECT * FROM parquet_scan('{data}/x.parquet')"},
    {"parquet_metadata", "SELECT * FROM parquet_metadata('{data}/x.parquet')"},
    {"parquet_schema", "SELECT * FROM parquet_schema('{data}/x.parquet')"},
    {"parquet_file_metadata", "SELECT * FROM parquet_file_metadata('{data}/x.parquet')"},
    {"parquet_kv_metadata", "SELECT * FROM parquet_kv_metadata('{data}/x.parquet')"},
    {"parquet_full_metadata", "SELECT * FROM parquet_full_metadata('{data}/x.parquet')"},
    {"parquet_bloom_probe", "SELECT * FROM parquet_bloom_probe('{data}/x.parquet', 'a', 1)"},
    {"read_json", "SELECT * FROM read_json('{data}/unloaded.json')"},
    {"read_json_auto", "SELECT * FROM read_json_auto('{data}/unloaded.json')"},
    {"read_json_objects", "SELECT * FROM read_json_objects('{data}/unloaded.json')"},
    {"read_ndjson", "SELECT * FROM read_ndjson('{data}/unloaded.json')"},
    {"read_ndjson_objects", "SELECT * FROM read_ndjson_objects('{data}/unloaded.json')"},
    {"read_text", "SELECT * FROM read_text('/etc/passwd')"},
    {"read_text inside", "SELECT content FROM read_text('{data}/unloaded.csv')"},
    {"read_blob", "SELECT * FROM read_blob('{data}/unloaded.csv')"},
    {"read_duckdb", "SELECT * FROM read_duckdb('{data}/x.duckdb')"},
    {"glob", "SELECT * FROM glob('{data}/*')"},
    {"glob of the root", "SELECT * FROM glob('/*')"},
    {"sniff_csv", "SELECT * FROM sniff_csv('{data}/unloaded.csv')"},
    {"iceberg_scan", "SELECT * FROM iceberg_scan('{data}/x')"},
    {"delta_scan", "SELECT * FROM delta_scan('{data}/x')"},
    {"sqlite_scan", "SELECT * FROM sqlite_scan('{data}/x.db', 't')"},
    {"postgres_scan", "SELECT * FROM postgres_scan('host=127.0.0.1', 'public', 't')"},
    {"arrow_scan", "SELECT * FROM arrow_scan(1, 2, 3)"},
    {"seq_scan", "SELECT * FROM seq_scan(1)"},
    {"st_read", "SELECT * FROM st_read('{data}/unloaded.csv')"},
    {"read_xlsx", "SELECT * FROM read_xlsx('{data}/x.xlsx')"},
});

constexpr auto kPlaces = std::to_array<Case>({
    {"file as a table", "SELECT * FROM '{data}/unloaded.csv'"},
    {"relative file as a table", "SELECT * FROM 'unloaded.csv'"},
    {"file in double quotes", "SELECT * FROM \"{data}/unloaded.csv\""},
    {"file outside", "SELECT * FROM '{out}/o.csv'"},
    {"parquet in double quotes", "SELECT * FROM \"x.parquet\""},
    {"json file", "SELECT * FROM '{data}/unloaded.json'"},
    {"file in parts of a name", "SELECT * FROM unloaded.csv"},
    {"file in three parts", "SELECT * FROM a.unloaded.csv"},
    {"file with an alias", "SELECT * FROM '{data}/unloaded.csv' AS t"},
    {"file by FROM first", "FROM '{data}/unloaded.csv'"},
    {"file by FROM first with SELECT", "FROM '{data}/unloaded.csv' SELECT x"},
    {"file by TABLE", "TABLE \"{data}/unloaded.csv\""},
    {"glob as a table", "SELECT * FROM '{data}/*.csv'"},
    {"traversal", "SELECT * FROM '{data}/../outside/o.csv'"},
    {"link", "SELECT * FROM '{data}/link.csv'"},
    {"http", "SELECT * FROM 'http://127.0.0.1:1/x.csv'"},
    {"https", "SELECT * FROM 'https://127.0.0.1:1/x.parquet'"},
    {"s3", "SELECT * FROM 's3://bucket/x.parquet'"},
    {"file scheme", "SELECT * FROM 'file://{data}/unloaded.csv'"},
    {"database file", "SELECT * FROM '{data}/x.duckdb'"},
    {"device", "SELECT * FROM '/dev/stdin'"},
    {"process memory", "SELECT * FROM '/proc/self/environ'"},
    {"in a join", "SELECT * FROM t JOIN '{data}/unloaded.csv' f ON true"},
    {"in a left join", "SELECT * FROM t LEFT JOIN read_text('/etc/passwd') f ON true"},
    {"in a comma join", "SELECT * FROM t, '{data}/unloaded.csv'"},
    {"in a lateral", "SELECT * FROM t, LATERAL (SELECT * FROM read_text('/etc/passwd'))"},
    {"in a positional join", "SELECT * FROM t POSITIONAL JOIN '{data}/unloaded.csv'"},
    {"in an asof join", "SELECT * FROM t ASOF JOIN '{data}/unloaded.csv' f ON t.a >= f.x"},
    {"in a subquery", "SELECT * FROM (SELECT * FROM '{data}/unloaded.csv')"},
    {"in a scalar subquery", "SELECT (SELECT content FROM read_text('/etc/passwd'))"},
    {"in WHERE", "SELECT * FROM t WHERE a IN (SELECT x FROM '{data}/unloaded.csv')"},
    {"in EXISTS", "SELECT * FROM t WHERE EXISTS (FROM read_text('/etc/passwd'))"},
    {"in ANY", "SELECT * FROM t WHERE b = ANY (SELECT x FROM '{data}/unloaded.csv')"},
    {"in HAVING", "SELECT a FROM t GROUP BY a HAVING a > (SELECT count(*) FROM '{out}/o.csv')"},
    {"in QUALIFY", "SELECT a FROM t QUALIFY row_number() OVER () > (SELECT 1 FROM '{out}/o.csv')"},
    {"in ORDER BY", "SELECT a FROM t ORDER BY (SELECT x FROM '{data}/unloaded.csv')"},
    {"in LIMIT", "SELECT a FROM t LIMIT (SELECT count(*) FROM '{data}/unloaded.csv')"},
    {"in OFFSET", "SELECT a FROM t OFFSET (SELECT count(*) FROM '{data}/unloaded.csv')"},
    {"in GROUP BY", "SELECT 1 FROM t GROUP BY (SELECT x FROM '{data}/unloaded.csv')"},
    {"in DISTINCT ON", "SELECT DISTINCT ON ((SELECT x FROM '{out}/o.csv')) a FROM t"},
    {"in CASE", "SELECT CASE WHEN a = 1 THEN (SELECT x FROM '{out}/o.csv') END FROM t"},
    {"in a filter", "SELECT count(*) FILTER (WHERE a = (SELECT 1 FROM '{out}/o.csv')) FROM t"},
    {"in a window", "SELECT sum(a) OVER (ORDER BY (SELECT x FROM '{out}/o.csv')) FROM t"},
    {"in a frame", "SELECT sum(a) OVER (ROWS (SELECT 1 FROM '{out}/o.csv') PRECEDING) FROM t"},
    {"in an aggregate's order", "SELECT list(a ORDER BY (SELECT x FROM '{out}/o.csv')) FROM t"},
    {"in a lambda", "SELECT list_transform([1], x -> (SELECT count(*) FROM '{out}/o.csv'))"},
    {"in a struct", "SELECT {'a': (SELECT x FROM '{data}/unloaded.csv')}"},
    {"in a list", "SELECT [(SELECT x FROM '{data}/unloaded.csv')]"},
    {"in ARRAY of a query", "SELECT ARRAY(SELECT x FROM '{data}/unloaded.csv')"},
    {"in VALUES", "VALUES ((SELECT x FROM '{data}/unloaded.csv'))"},
    {"in a union", "SELECT 1 UNION ALL SELECT x FROM '{data}/unloaded.csv'"},
    {"in an except", "SELECT 1 EXCEPT SELECT x FROM '{data}/unloaded.csv'"},
    {"in a union by name", "SELECT 1 AS x UNION BY NAME SELECT x FROM '{data}/unloaded.csv'"},
    {"in WITH", "WITH f AS (SELECT * FROM '{data}/unloaded.csv') SELECT * FROM f"},
    {"in WITH not used", "WITH f AS (SELECT * FROM '{data}/unloaded.csv') SELECT 1"},
    {"in WITH within WITH", "WITH g AS (WITH f AS (FROM '{out}/o.csv') FROM f) FROM g"},
    {"in recursion",
     "WITH RECURSIVE r AS (SELECT 1 x UNION ALL SELECT x + 1 FROM r, '{out}/o.csv') FROM r"},
    {"in PIVOT", "FROM (PIVOT '{data}/unloaded.csv' ON x IN (1) USING count(*))"},
    {"in UNPIVOT", "UNPIVOT '{data}/unloaded.csv' ON x"},
    {"in DESCRIBE", "DESCRIBE SELECT * FROM '{data}/unloaded.csv'"},
    {"in DESCRIBE of a name", "DESCRIBE '{data}/unloaded.csv'"},
    {"in SUMMARIZE", "SUMMARIZE '{data}/unloaded.csv'"},
    {"in SUMMARIZE of a query", "SUMMARIZE SELECT * FROM '{data}/unloaded.csv'"},
    {"in SHOW", "SHOW '{data}/unloaded.csv'"},
    {"in FROM (DESCRIBE)", "SELECT * FROM (DESCRIBE SELECT * FROM '{data}/unloaded.csv')"},
    {"in COLUMNS", "SELECT COLUMNS(c -> c = (SELECT x FROM '{data}/unloaded.csv')) FROM t"},
    {"in REPLACE", "SELECT * REPLACE ((SELECT x FROM '{data}/unloaded.csv') AS a) FROM t"},
    {"in a table function", "SELECT * FROM range((SELECT count(*) FROM '{out}/o.csv'))"},
    {"in unnest", "SELECT unnest((SELECT [x] FROM '{data}/unloaded.csv'))"},
    {"in a sample", "SELECT * FROM '{data}/unloaded.csv' TABLESAMPLE 10%"},
    {"named by WITH before its scope",
     "SELECT * FROM (WITH unloaded AS (SELECT 1) FROM unloaded) JOIN 'unloaded.csv' ON true"},
    {"WITH named like a file", "WITH \"x.csv\" AS (SELECT 1) SELECT * FROM \"x.csv\""},
});

TEST_F(SqlSmugglingFilesTest, readers_are_refused) { check(kReaders); }
TEST_F(SqlSmugglingFilesTest, files_are_refused_wherever_a_query_can_stand) { check(kPlaces); }

// The fence behind the screen, which only a defect in it would meet.
TEST_F(SqlSmugglingFilesTest, loads_stay_in_the_folder) {
  for (const char* file : {"../outside/o.csv",
                           "/etc/passwd",
                           "sub/../../outside/o.csv",
                           "./t.csv",
                           "",
                           ".hidden.csv",
                           "*.csv",
                           "t?.csv",
                           "[t].csv",
                           "{t}.csv",
                           "s3://b/x.csv",
                           "C:\\t.csv",
                           "sub//deep.csv",
                           "sub/",
                           "/t.csv",
                           "t.csv\n",
                           "t.txt",
                           "t",
                           "t.duckdb",
                           "t.csv.zst",
                           "x.parquet.gz",
                           "file:t.csv",
                           "~/t.csv",
                           "%2e%2e/t.csv",
                           "t.csv'",
                           "t.csv\""}) {
    auto answer = call("sql.load", {{"file", file}, {"table", "x"}});
    EXPECT_EQ(fate(answer), "E_SHAPE") << file;
    EXPECT_EQ(watch.take(), 0) << file;
  }
  auto linked = call("sql.load", {{"file", "link.csv"}, {"table", "x"}});
  EXPECT_EQ(fate(linked), "E_POLICY") << text_of(linked);
  EXPECT_EQ(text_of(linked).find(kSecret), std::string::npos);
}

}  // namespace
}  // namespace tool::connectors
