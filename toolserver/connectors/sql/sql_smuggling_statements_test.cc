// Ways to do something other than ask: other statements, settings, the
// engine's own insides, text that becomes SQL, and work without an end.

#include <array>

#include "toolserver/connectors/sql/sql_fixture_test.h"

namespace tool::connectors {
namespace {

struct Case {
  const char* name;
  const char* sql;
  const char* fate = "E_POLICY";
};

class SqlSmugglingStatementsTest : public SqlTest {
 protected:
  template <std::size_t n>
  void check(const std::array<Case, n>& cases) {
    for (const Case& c : cases) {
      auto answer = query(placed(c.sql));
      EXPECT_EQ(fate(answer), c.fate) << c.name << ": " << text_of(answer);
      EXPECT_EQ(text_of(answer).find(kSecret), std::string::npos) << c.name;
      EXPECT_EQ(watch.take(), 0) << c.name << " touched a file";
    }
    // And nothing has changed.
    EXPECT_EQ(rows_of("SELECT * FROM t ORDER BY a"), R"([[1,"one"],[2,"two"],[3,null]])");
    auto tables = call("sql.list_tables", {});
    EXPECT_EQ(tables->structured->at("tables").as_array().size(), 2u);
    EXPECT_EQ(fate(query("SELECT * FROM created")), "mistake");
  }
};

constexpr auto kStatements = std::to_array<Case>({
    {"COPY TO", "COPY t TO '{data}/w.csv'"},
    {"COPY query TO", "COPY (SELECT 1) TO '{data}/w.parquet' (FORMAT parquet)"},
    {"COPY FROM", "COPY t FROM '{data}/unloaded.csv'"},
    {"COPY FROM DATABASE", "COPY FROM DATABASE memory TO x"},
    {"EXPORT", "EXPORT DATABASE '{data}/w'"},
    {"IMPORT", "IMPORT DATABASE '{data}'"},
    {"ATTACH", "ATTACH '{data}/w.duckdb' AS w"},
    {"ATTACH memory", "ATTACH ':memory:' AS w"},
    {"ATTACH postgres", "ATTACH 'host=127.0.0.1' AS w (TYPE postgres)"},
    {"DETACH", "DETACH memory"},
    {"USE", "USE memory.main"},
    {"INSTALL", "INSTALL httpfs"},
    {"FORCE INSTALL", "FORCE INSTALL httpfs FROM 'http://127.0.0.1:1'"},
    {"LOAD", "LOAD httpfs"},
    {"LOAD path", "LOAD '{data}/x.duckdb_extension'"},
    {"UPDATE EXTENSIONS", "UPDATE EXTENSIONS"},
    {"SET", "SET enable_external_access = true"},
    {"SET GLOBAL", "SET GLOBAL memory_limit = '100GB'"},
    {"SET SESSION", "SET SESSION threads = 100"},
    {"SET VARIABLE", "SET VARIABLE v = 1"},
    {"RESET", "RESET memory_limit"},
    {"PRAGMA", "PRAGMA database_list"},
    {"PRAGMA table_info", "PRAGMA table_info('t')"},
    {"PRAGMA with a value", "PRAGMA memory_limit='100GB'"},
    {"PRAGMA import", "PRAGMA import_database('{data}')"},
    {"PRAGMA json", "PRAGMA json_execute_serialized_sql('{}')"},
    {"CALL", "CALL range(3)"},
    {"CALL pragma_version", "CALL pragma_version()"},
    {"CALL enable_logging", "CALL enable_logging()"},
    {"CALL force_checkpoint", "CALL force_checkpoint()"},
    {"CHECKPOINT", "CHECKPOINT"},
    {"VACUUM", "VACUUM"},
    {"ANALYZE", "ANALYZE"},
    {"EXPLAIN", "EXPLAIN SELECT 1"},
    {"EXPLAIN ANALYZE", "EXPLAIN ANALYZE SELECT 1"},
    {"PREPARE", "PREPARE p AS SELECT 1"},
    {"PREPARE COPY", "PREPARE p AS COPY t TO '{data}/w.csv'"},
    {"EXECUTE", "EXECUTE p"},
    {"DEALLOCATE", "DEALLOCATE p"},
    {"CREATE TABLE", "CREATE TABLE created (a INT)"},
    {"CREATE TABLE AS", "CREATE TABLE created AS SELECT 1"},
    {"CREATE TEMP TABLE", "CREATE TEMP TABLE created AS SELECT 1"},
    {"CREATE OR REPLACE", "CREATE OR REPLACE TABLE t AS SELECT 1"},
    {"CREATE VIEW", "CREATE VIEW created AS SELECT * FROM '{data}/unloaded.csv'"},
    {"CREATE MACRO", "CREATE MACRO abs(x) AS x"},
    {"CREATE table MACRO", "CREATE MACRO created(x) AS TABLE FROM read_csv(x)"},
    {"CREATE FUNCTION", "CREATE FUNCTION created(x) AS x"},
    {"CREATE SEQUENCE", "CREATE SEQUENCE created"},
    {"CREATE TYPE", "CREATE TYPE created AS ENUM ('a')"},
    {"CREATE SCHEMA", "CREATE SCHEMA created"},
    {"CREATE INDEX", "CREATE INDEX i ON t (a)"},
    {"CREATE SECRET", "CREATE SECRET s (TYPE s3, KEY_ID 'k', SECRET 's')"},
    {"CREATE PERSISTENT SECRET", "CREATE PERSISTENT SECRET s (TYPE s3)"},
    {"DROP TABLE", "DROP TABLE t"},
    {"DROP SCHEMA", "DROP SCHEMA main CASCADE"},
    {"ALTER", "ALTER TABLE t RENAME TO x"},
    {"COMMENT ON", "COMMENT ON TABLE t IS 'x'"},
    {"INSERT", "INSERT INTO t VALUES (9, 'x')"},
    {"INSERT RETURNING", "INSERT INTO t VALUES (9, 'x') RETURNING *"},
    {"UPDATE", "UPDATE t SET a = 9"},
    {"DELETE", "DELETE FROM t"},
    {"TRUNCATE", "TRUNCATE t"},
    {"MERGE", "MERGE INTO t USING u ON t.a = u.a WHEN MATCHED THEN DELETE"},
    {"WITH INSERT", "WITH x AS (SELECT 1) INSERT INTO t SELECT 9, 'x'"},
    {"INSERT in WITH", "WITH x AS (INSERT INTO t VALUES (9, 'x') RETURNING *) FROM x", "mistake"},
    {"DELETE in WITH", "WITH x AS (DELETE FROM t RETURNING *) FROM x", "mistake"},
    {"SELECT INTO", "SELECT * INTO created FROM t", "mistake"},
    {"BEGIN", "BEGIN"},
    {"COMMIT", "COMMIT"},
    {"ROLLBACK", "ROLLBACK"},
    {"PIVOT that makes a type", "PIVOT t ON b USING sum(a)"},
    {"two statements", "SELECT 1; SELECT 2"},
    {"a second one behind a comment", "SELECT 1; -- x\nDROP TABLE t"},
    {"a second one behind a block", "SELECT 1 /* ; */; DROP TABLE t"},
    {"a first one", "DROP TABLE t; SELECT 1"},
    {"a quoted semicolon and a second one", "SELECT ';'; DROP TABLE t"},
    {"an import and a SELECT", "IMPORT DATABASE '{data}'; SELECT 1"},
    {"nothing", "", "E_POLICY"},
    {"only a comment", "-- nothing"},
    {"only a semicolon", ";"},
    {"a meta command", ".read {data}/unloaded.csv", "mistake"},
    {"a shell escape", "\\! id", "mistake"},
    {"an open comment", "SELECT 1 /* ", "mistake"},
    {"an open quote", "SELECT 'a", "mistake"},
    {"no SQL", "select select", "mistake"},
});

constexpr auto kInsides = std::to_array<Case>({
    {"query", "SELECT * FROM query('SELECT 1')"},
    {"query of a file", "SELECT * FROM query('FROM ''{data}/unloaded.csv''')"},
    {"query built", "SELECT * FROM query('FR' || 'OM t')"},
    {"query_table", "SELECT * FROM query_table('t')"},
    {"query_table of a file", "SELECT * FROM query_table('{data}/unloaded.csv')"},
    {"query_table of a list", "SELECT * FROM query_table(['t', 'u'])"},
    {"query as a scalar", "SELECT query('SELECT 1')"},
    {"histogram of a table", "SELECT * FROM histogram(t, a)"},
    {"histogram_values", "SELECT * FROM histogram_values('{data}/unloaded.csv', x)"},
    {"json_execute_serialized_sql", "FROM json_execute_serialized_sql('{\"statements\":[]}')"},
    {"json_serialize_sql", "SELECT json_serialize_sql('SELECT 1')"},
    {"json_deserialize_sql", "SELECT json_deserialize_sql('{}')"},
    {"json_serialize_plan", "SELECT json_serialize_plan('SELECT * FROM t')"},
    {"getenv", "SELECT getenv('HOME')"},
    {"current_setting", "SELECT current_setting('temp_directory')"},
    {"current_setting of a secret", "SELECT current_setting('s3_secret_access_key')"},
    {"current_setting quoted", "SELECT \"current_setting\"('home_directory')"},
    {"current_setting of main", "SELECT main.current_setting('home_directory')"},
    {"current_setting of pg_catalog", "SELECT pg_catalog.current_setting('home_directory')"},
    {"current_setting as a method", "SELECT ('home_directory').current_setting()"},
    {"current_setting in a lambda", "SELECT list_transform(['threads'], x -> current_setting(x))"},
    {"current_setting in a window", "SELECT current_setting('threads') OVER ()"},
    {"set_config", "SELECT set_config('threads', '100')"},
    {"getvariable", "SELECT getvariable('v')"},
    {"nextval", "SELECT nextval('s')"},
    {"setseed", "SELECT setseed(0.5)"},
    {"write_log", "SELECT write_log('x')"},
    {"error", "SELECT error('x')"},
    {"sleep_ms", "SELECT sleep_ms(100000)"},
    {"pg_sleep", "SELECT pg_sleep(1000)"},
    {"pg_read_file", "SELECT pg_read_file('/etc/passwd')"},
    {"lo_import", "SELECT lo_import('/etc/passwd')"},
    {"dblink", "SELECT * FROM dblink('host=127.0.0.1', 'SELECT 1')"},
    {"http_get", "SELECT http_get('http://127.0.0.1:1')"},
    {"load_extension", "SELECT load_extension('{data}/x.so')"},
    {"pg_get_viewdef", "SELECT pg_get_viewdef(0)"},
    {"inet_client_addr", "SELECT inet_client_addr()"},
    {"duckdb_settings", "SELECT * FROM duckdb_settings()"},
    {"duckdb_secrets", "SELECT * FROM duckdb_secrets()"},
    {"which_secret", "SELECT * FROM which_secret('s3://b', 's3')"},
    {"duckdb_databases", "SELECT * FROM duckdb_databases()"},
    {"duckdb_extensions", "SELECT * FROM duckdb_extensions()"},
    {"duckdb_functions", "SELECT * FROM duckdb_functions()"},
    {"duckdb_logs", "SELECT * FROM duckdb_logs()"},
    {"duckdb_prepared_statements", "SELECT * FROM duckdb_prepared_statements()"},
    {"duckdb_temporary_files", "SELECT * FROM duckdb_temporary_files()"},
    {"duckdb_external_file_cache", "SELECT * FROM duckdb_external_file_cache()"},
    {"duckdb_memory", "SELECT * FROM duckdb_memory()"},
    {"pragma_table_info", "SELECT * FROM pragma_table_info('t')"},
    {"pragma_storage_info", "SELECT * FROM pragma_storage_info('t')"},
    {"pragma_user_agent", "SELECT * FROM pragma_user_agent()"},
    {"enable_logging", "SELECT * FROM enable_logging()"},
    {"enable_profiling", "SELECT * FROM enable_profiling()"},
    {"checkpoint", "SELECT * FROM checkpoint()"},
    {"truncate_duckdb_logs", "SELECT * FROM truncate_duckdb_logs()"},
    {"test_all_types", "SELECT * FROM test_all_types()"},
    {"view duckdb_databases", "SELECT * FROM duckdb_databases"},
    {"view duckdb_settings", "SELECT * FROM duckdb_settings"},
    {"view duckdb_tables in quotes", "SELECT * FROM \"duckdb_tables\""},
    {"view duckdb_logs in capitals", "SELECT * FROM DUCKDB_LOGS"},
    {"view sqlite_master", "SELECT * FROM sqlite_master"},
    {"view pg_settings", "SELECT * FROM pg_settings"},
    {"view pragma_database_list", "SELECT * FROM pragma_database_list"},
    {"information_schema", "SELECT * FROM information_schema.tables"},
    {"information_schema in quotes", "SELECT * FROM \"INFORMATION_SCHEMA\".\"tables\""},
    {"pg_catalog", "SELECT * FROM pg_catalog.pg_class"},
    {"system catalog", "SELECT * FROM system.main.duckdb_settings"},
    {"system.information_schema", "SELECT * FROM system.information_schema.tables"},
    {"temp catalog", "SELECT * FROM temp.main.t"},
    {"another catalog", "SELECT * FROM other.main.t"},
    {"another schema", "SELECT * FROM other.t"},
    {"WITH that hides a view", "WITH duckdb_settings AS (SELECT 1) FROM duckdb_settings"},
    {"WITH out of its scope",
     "SELECT * FROM (WITH pg_settings AS (SELECT 1) FROM pg_settings), pg_settings"},
    {"recurring table",
     "WITH RECURSIVE r(n) USING KEY (n) AS "
     "(SELECT 1 UNION SELECT n FROM recurring.r) FROM r"},
    {"table AT a version", "SELECT * FROM t AT (VERSION => 1)"},
    {"SHOW DATABASES", "SHOW DATABASES"},
    {"SHOW VARIABLES", "SHOW VARIABLES"},
    {"SHOW TABLES FROM", "SHOW TABLES FROM information_schema"},
    {"SHOW a setting", "SHOW memory_limit", "mistake"},
    {"DESCRIBE a view", "DESCRIBE duckdb_settings"},
    {"SUMMARIZE a view", "SUMMARIZE duckdb_settings"},
    {"unicode escape text", "SELECT U&'\\0041'", "mistake"},
    {"unicode look-alike", "SELECT \u0433\u0435\u0061d_csv('x')"},
    {"full-width name", "SELECT * FROM \uff52ead_csv('x')"},
    {"name of zero width", "SELECT * FROM \"\"", "mistake"},
    {"unknown function", "SELECT no_such_function(1)"},
    {"function of another schema", "SELECT information_schema.upper('x')"},
    {"function of temp", "SELECT temp.upper('x')"},
});

TEST_F(SqlSmugglingStatementsTest, statements_other_than_one_select_are_refused) {
  check(kStatements);
}
TEST_F(SqlSmugglingStatementsTest, insides_of_the_engine_are_refused) { check(kInsides); }

}  // namespace
}  // namespace tool::connectors
