// A caller whose rights name tables: what the engine's own tree says of a
// statement decides, and the refusal tells nothing of other tables.

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "toolserver/connectors/sql/sql_fixture_test.h"

namespace tool::connectors {
namespace {

class SqlNarrowedTest : public SqlTest {
 protected:
  // "ok", or the refusal of a caller that may read `tables`.
  std::string kept(Invocation call, const std::string& argument, std::vector<std::string> tables) {
    call.context.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    boost::asio::io_context loop(1);
    Outcome<void> kept = refuse(Code::kInternal, "no answer");
    boost::asio::co_spawn(loop, connector->keeps_to_tables(call, argument, std::move(tables)),
                          [&](std::exception_ptr error, Outcome<void> result) {
                            EXPECT_FALSE(error);
                            kept = std::move(result);
                          });
    loop.run();
    return kept ? "ok" : std::string(name(kept.error().code)) + " " + kept.error().message;
  }
  std::string reads(std::string_view sql, std::vector<std::string> tables = {"t"}) {
    return kept(invocation("sql.query", {{"sql", sql}}), "sql", std::move(tables));
  }
};

TEST_F(SqlNarrowedTest, a_statement_keeps_to_its_tables_however_it_is_written) {
  for (const char* sql :
       {"SELECT 1", "SELECT * FROM t", "SELECT * FROM T", "SELECT * FROM main.t",
        "SELECT * FROM memory.main.\"t\"", "WITH u AS (SELECT * FROM t) SELECT * FROM u",
        "SELECT (SELECT max(a) FROM t)", "SELECT 'u' FROM t -- FROM u", "DESCRIBE SELECT * FROM t",
        "SELECT * FROM t /* , u */ JOIN t AS u USING (a)"}) {
    EXPECT_EQ(reads(sql), "ok") << sql;
  }
  const std::string other = "E_POLICY args.sql: must read no other tables than t";
  for (const char* sql :
       {"SELECT * FROM u", "SELECT * FROM \"U\"", "SELECT * FROM t, u", "SELECT * FROM main.u",
        "SELECT (SELECT max(a) FROM u) FROM t", "SELECT * FROM t WHERE a IN (SELECT a FROM u)",
        "WITH t2 AS (SELECT * FROM u) SELECT * FROM t2", "SELECT * FROM t UNION ALL FROM u",
        "WITH u AS (SELECT * FROM u) SELECT * FROM t, (SELECT * FROM main.u)",
        "SELECT 1 /* t */ FROM u", "DESCRIBE SELECT * FROM u",
        // Within a WITH part its name is that of the table.
        "WITH u AS (SELECT * FROM u) SELECT * FROM u",
        "WITH u AS MATERIALIZED (SELECT * FROM u) SELECT * FROM u",
        "WITH t AS (SELECT * FROM t), u AS (WITH u AS (SELECT * FROM u) FROM u) SELECT * FROM u",
        "WITH RECURSIVE u AS (SELECT * FROM u UNION ALL SELECT * FROM u) SELECT * FROM u",
        "WITH RECURSIVE u(a) AS (SELECT a FROM t UNION SELECT a FROM u) SELECT * FROM u",
        // Whether there is such a table is not told.
        "SELECT * FROM nothing_like_it"}) {
    EXPECT_EQ(reads(sql), other) << sql;
  }
  EXPECT_EQ(reads("SELECT * FROM t, u", {"t", "u"}), "ok");
}

TEST_F(SqlNarrowedTest, what_cannot_be_judged_is_refused) {
  for (const char* sql :
       {"SHOW TABLES", "SUMMARIZE u", "SHOW u", "SHOW ALL TABLES", "SELECT * FROM duckdb_tables()",
        "SELECT * FROM t; SELECT 1", "SELECT * FROM", "", "DROP TABLE t", "SELECT * FROM 't.csv'",
        "SELECT * FROM read_csv('t.csv')", "SELECT * FROM query_table('u')",
        "SELECT * FROM query('SELECT * FROM u')", "SELECT * FROM information_schema.tables",
        "EXPLAIN SELECT * FROM u"}) {
    EXPECT_TRUE(reads(sql).starts_with("E_POLICY args.sql: ")) << sql << ": " << reads(sql);
  }
  // Who is not narrowed may know which tables there are.
  EXPECT_EQ(fate(query("SHOW TABLES")), "ok");
  EXPECT_TRUE(
      kept(invocation("sql.query", {{"sql", "SELECT 1"}, {"format", "json"}}), "format", {"t"})
          .starts_with("E_POLICY"));
  EXPECT_TRUE(kept(invocation("sql.list_tables", {}), "table", {"t"}).starts_with("E_POLICY"));
}

TEST_F(SqlNarrowedTest, a_name_is_compared_as_the_engine_compares_it) {
  for (const char* tool : {"sql.describe", "sql.unload"}) {
    EXPECT_EQ(kept(invocation(tool, {{"table", "T"}}), "table", {"t"}), "ok");
    EXPECT_EQ(kept(invocation(tool, {{"table", "u"}}), "table", {"t"}),
              "E_POLICY args.table: must be one of t");
    EXPECT_TRUE(kept(invocation(tool, {{"table", 7}}), "table", {"t"}).starts_with("E_POLICY"));
  }
}

TEST_F(SqlNarrowedTest, raw_files_are_no_tables) {
  open({.allow_raw_file_sql = true});
  EXPECT_EQ(fate(query("SELECT * FROM 't.csv'")), "ok");
  EXPECT_TRUE(reads("SELECT * FROM 't.csv'").starts_with("E_POLICY args.sql: "));
  EXPECT_TRUE(reads("SELECT * FROM read_csv('t.csv')").starts_with("E_POLICY args.sql: "));
}

}  // namespace
}  // namespace tool::connectors
