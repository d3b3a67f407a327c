// The parts that need no connector: names, lists of functions, messages, and
// trees that the engine would never make.

#include <gtest/gtest.h>

#include <chrono>
#include <set>

#include "base/duckdb/engine.h"
#include "toolserver/connectors/sql/sql_faults.h"
#include "toolserver/connectors/sql/sql_functions.h"
#include "toolserver/connectors/sql/sql_names.h"
#include "toolserver/connectors/sql/sql_screen.h"

namespace tool::connectors {
namespace {

TEST(SqlNamesTest, data_files_are_plain_relative_paths) {
  for (const char* path : {"a.csv", "a/b.parquet", "a b.json", "\u00e4.csv", "x.tar.csv", "A.CSV",
                           "a.csv.gz", "a.ndjson.gz", "a.jsonl", "a.tsv", "a-b_c.csv"}) {
    EXPECT_TRUE(DataFile::parse(path)) << path;
  }
  for (const char* path :
       {"",         ".csv",         "a",        "a.txt",    "/a.csv",  "../a.csv", "a/../b.csv",
        "a//b.csv", "a/.b.csv",     "a\\b.csv", "a*.csv",   "a?.csv",  "[a].csv",  "{a}.csv",
        "x:a.csv",  "~a.csv",       "a\n.csv",  "a'.csv",   "a\".csv", "a|b.csv",  "%61.csv",
        "\xff.csv", "a.parquet.gz", "a.csv/",   "a.csv.zst"}) {
    EXPECT_FALSE(DataFile::parse(path)) << path;
  }
  EXPECT_FALSE(DataFile::parse(std::string(1021, 'a') + ".csv"));
  EXPECT_EQ(DataFile::parse("a.PARQUET")->kind(), FileKind::kParquet);
  EXPECT_EQ(DataFile::parse("a.tsv.gz")->kind(), FileKind::kCsv);
  EXPECT_EQ(DataFile::parse("a.jsonl")->kind(), FileKind::kJson);
}

// A list that names what the engine does not have, or has it as another kind,
// is out of date.
TEST(SqlFunctionsTest, lists_only_what_the_engine_has) {
  auto engine = base::duckdb::Engine::open({.scratch_bytes = 0});
  ASSERT_TRUE(engine);
  auto connection = (*engine)->connect();
  auto rows = connection->execute(
      "SELECT DISTINCT function_name, function_type FROM duckdb_functions() "
      "WHERE function_type <> 'pragma'");
  ASSERT_TRUE(rows);
  int pure = 0;
  int refused = 0;
  int readers = 0;
  while (*rows->next()) {
    std::string name(rows->bytes(0));
    std::string_view type = rows->bytes(1);
    if (type == "table" || type == "table_macro") {
      readers += is_file_reader(name) ? 1 : 0;
      EXPECT_FALSE(is_file_reader(name) && is_pure_table_function(name)) << name;
    } else if (is_pure_function(name)) {
      ++pure;
    } else {
      ++refused;
    }
  }
  EXPECT_EQ(readers, 7);
  // A new release changes these numbers: look at what came before raising them.
  EXPECT_EQ(pure, 567);
  EXPECT_EQ(refused, 255);
}

TEST(SqlFunctionsTest, side_effects_are_not_pure) {
  for (const char* name :
       {"nextval", "currval", "setseed", "current_setting", "getvariable", "getenv", "write_log",
        "query", "query_table", "read_csv", "read_text", "glob", "sleep_ms", "pg_sleep", "error",
        "json_execute_serialized_sql", "json_deserialize_sql", "current_query", "list_reduce"}) {
    EXPECT_FALSE(is_pure_function(name)) << name;
    EXPECT_FALSE(is_pure_table_function(name)) << name;
  }
}

TEST(SqlFaultsTest, paths_do_not_leave) {
  const std::string_view dir = "/srv/data";
  EXPECT_EQ(without_paths("No files found at \"/srv/data/a/b.csv\"", dir, ""),
            "No files found at \"a/b.csv\"");
  EXPECT_EQ(without_paths("IO Error: /var/lib/x/y.so: no", dir, ""), "IO Error: <path>: no");
  EXPECT_EQ(without_paths("in '/srv/u/.duckdb/e'", dir, ""), "in '<path>'");
  EXPECT_EQ(without_paths("a / b and 1/2 and /* x */", dir, ""), "a / b and 1/2 and /* x */");
  EXPECT_EQ(without_paths("LINE 1: SELECT '/etc/x'", dir, "SELECT '/etc/x'"),
            "LINE 1: SELECT '/etc/x'");
  EXPECT_EQ(without_paths("/srv/database/x", dir, ""), "<path>");
  EXPECT_EQ(without_paths(std::string(3000, 'x'), dir, "").size(), 2003u);
}

TEST(SqlFaultsTest, engine_errors_become_codes) {
  SqlCall call(std::chrono::steady_clock::now() + std::chrono::hours(1));
  SqlCall late(std::chrono::steady_clock::now() - std::chrono::hours(1));
  using base::ErrorKind;
  auto code = [](const Outcome<ToolResult>& outcome) {
    return outcome ? std::string(outcome->is_error ? "mistake" : "ok")
                   : std::string(name(outcome.error().code));
  };
  auto of = [&](ErrorKind kind, const char* detail, const SqlCall& with) {
    return code(engine_failure(base::fail(kind, "m").with_detail(detail), with, "", ""));
  };
  EXPECT_EQ(of(ErrorKind::kInvalid, "Parser Error: x", call), "mistake");
  EXPECT_EQ(of(ErrorKind::kUnsupported, "Not implemented Error: x", call), "mistake");
  EXPECT_EQ(of(ErrorKind::kInternal, "IO Error: x", call), "mistake");
  EXPECT_EQ(of(ErrorKind::kInternal, "INTERNAL Error: x", call), "E_INTERNAL");
  EXPECT_EQ(of(ErrorKind::kInternal, "FATAL Error: x", call), "E_INTERNAL");
  EXPECT_EQ(of(ErrorKind::kTooLarge, "", call), "E_LIMIT");
  EXPECT_EQ(of(ErrorKind::kForbidden, "", call), "E_POLICY");
  EXPECT_EQ(of(ErrorKind::kTimeout, "", late), "E_TIMEOUT");
  EXPECT_EQ(of(ErrorKind::kCancelled, "", late), "E_TIMEOUT");
  call.cancel();
  EXPECT_EQ(of(ErrorKind::kCancelled, "", call), "E_CANCELLED");
}

// What is not known is refused, whatever it looks like.
TEST(SqlScreenTest, trees_that_are_not_known_are_refused) {
  constexpr const char* kSelect =
      R"({"error":false,"statements":[{"node":{"type":"SELECT_NODE","cte_map":{"map":[]},%}}]})";
  struct Case {
    const char* name;
    std::string tree;
  };
  auto with = [&](std::string_view part) {
    std::string text = kSelect;
    return text.replace(text.find('%'), 1, part);
  };
  for (const Case& c : {
           Case{"null", "null"},
           Case{"list", "[]"},
           Case{"empty", "{}"},
           Case{"error no bool", R"({"error":1})"},
           Case{"no statements", R"({"error":false})"},
           Case{"none", R"({"error":false,"statements":[]})"},
           Case{"no node", R"({"error":false,"statements":[{}]})"},
           Case{"node of another kind", R"({"error":false,"statements":[{"node":{"type":"X"}}]})"},
           Case{"no WITH parts",
                R"({"error":false,"statements":[{"node":{"type":"SELECT_NODE"}}]})"},
           Case{"unknown class", with(R"("x":{"class":"NEW"})")},
           Case{"class no text", with(R"("x":{"class":1})")},
           Case{"unknown node", with(R"("x":{"type":"NEW_REF"})")},
           Case{"function without a name", with(R"("x":{"class":"FUNCTION","children":[]})")},
           Case{"function without arguments",
                with(R"("x":{"class":"FUNCTION","function_name":"abs"})")},
           Case{"window function",
                with(R"("x":{"class":"WINDOW","function_name":"new","children":[]})")},
           Case{"table without a name", with(R"("x":{"type":"BASE_TABLE","at_clause":null})")},
           Case{"table function without a call", with(R"("x":{"type":"TABLE_FUNCTION"})")},
           Case{"table function that is a subquery",
                with(R"("x":{"type":"TABLE_FUNCTION","function":{"class":"SUBQUERY"}})")},
           Case{"show of nothing", with(R"("x":{"type":"SHOW_REF","table_name":""})")},
       }) {
    auto tree = base::json::parse(c.tree);
    ASSERT_TRUE(tree) << c.name;
    EXPECT_EQ(screen(*tree, {}).kind, Verdict::Kind::kRefused) << c.name;
  }
  auto plain = base::json::parse(with(R"("select_list":[{"class":"CONSTANT"}])"));
  EXPECT_TRUE(screen(*plain, {}).allowed());
}

TEST(SqlScreenTest, values_are_not_taken_for_parts_of_the_tree) {
  constexpr const char* kTree =
      R"({"error":false,"statements":[{"node":{"type":"SELECT_NODE","cte_map":{"map":[]},)"
      R"("select_list":[{"class":"CONSTANT","value":{"type":{"id":"X"},"is_null":false,)"
      R"("value":{"class":"FUNCTION","function_name":"read_csv"}}}]}}]})";
  EXPECT_TRUE(screen(*base::json::parse(kTree), {}).allowed());
}

}  // namespace
}  // namespace tool::connectors
