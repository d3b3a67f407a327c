// Statements that name files, where the operator allows it: what runs is what
// was judged, whatever the names in it hold.

#include "toolserver/connectors/sql/raw_files.h"

#include <array>
#include <vector>

#include "base/duckdb/engine.h"
#include "base/duckdb/sql_text.h"
#include "toolserver/connectors/sql/sql_fixture_test.h"
#include "toolserver/connectors/sql/sql_screen.h"

namespace tool::connectors {
namespace {

// {n} is a name in double quotes, {s} the same as a text.
constexpr auto kPositions = std::to_array<const char*>({
    "SELECT {n}.* FROM 't.csv'",
    "SELECT {n}.* FROM 't.csv' {n}",
    "SELECT {n}.* FROM 't.csv' AS {n}",
    "SELECT {n}.* EXCLUDE ({n}) FROM read_csv('t.csv') AS {n}",
    "SELECT {n}.a FROM 't.csv' {n}",
    "SELECT {n} FROM 't.csv' f({n})",
    "SELECT {n} FROM 't.csv'",
    "SELECT {n}.{n}.{n} FROM 't.csv'",
    "SELECT a AS {n} FROM 't.csv'",
    "SELECT a AS {n}, {n} FROM 't.csv' ORDER BY {n}",
    "SELECT * EXCLUDE ({n}) FROM 't.csv'",
    "SELECT * REPLACE (1 AS {n}) FROM 't.csv'",
    "SELECT * RENAME (a AS {n}) FROM 't.csv'",
    "SELECT COLUMNS({s}) FROM 't.csv'",
    "SELECT {n}.COLUMNS('a') FROM 't.csv' {n}",
    "SELECT a COLLATE {n} FROM 't.csv'",
    "SELECT b COLLATE {n}.{n} FROM 't.csv'",
    "SELECT {{n}: a} FROM 't.csv'",
    "SELECT {{s}: a}.{n} FROM 't.csv'",
    "SELECT ({'x': a}).{n} FROM 't.csv'",
    "SELECT struct_pack({n} := a) FROM 't.csv'",
    "SELECT row(a).{n} FROM 't.csv'",
    "SELECT MAP {{s}: a}[{s}] FROM 't.csv'",
    "SELECT list_transform([a], {n} -> {n} + 1) FROM 't.csv'",
    "SELECT list_transform([a], lambda {n}, i: {n} + i) FROM 't.csv'",
    "SELECT [{n} FOR {n} IN [a]] FROM 't.csv'",
    "WITH {n} AS (FROM 't.csv') SELECT {n}.* FROM {n}",
    "WITH f({n}) AS (FROM 't.csv') SELECT {n} FROM f",
    "WITH RECURSIVE r({n}) AS (SELECT 1 UNION ALL SELECT {n} + 1 FROM r WHERE {n} < 3) "
    "SELECT * FROM r, 't.csv'",
    "SELECT sum(a) OVER {n} FROM 't.csv' WINDOW {n} AS (ORDER BY a)",
    "SELECT CAST(a AS {n}) FROM 't.csv'",
    "SELECT a::{n} FROM 't.csv'",
    "SELECT a::{n}.{n} FROM 't.csv'",
    "SELECT NULL::STRUCT({n} INTEGER) FROM 't.csv'",
    "SELECT NULL::UNION({n} INTEGER) FROM 't.csv'",
    "SELECT NULL::ENUM({s}) FROM 't.csv'",
    "SELECT {n}.upper('x') FROM 't.csv'",
    "SELECT {n}({s}) FROM 't.csv'",
    "SELECT upper({n} := 'x') FROM 't.csv'",
    "SELECT a OPERATOR({n}.+) 1 FROM 't.csv'",
    "SELECT date_part({s}, DATE '2024-01-01') FROM 't.csv'",
    "SELECT extract({s} FROM DATE '2024-01-01') FROM 't.csv'",
    "SELECT INTERVAL {s} FROM 't.csv'",
    "SELECT {s}, E{s} FROM 't.csv'",
    "SELECT ${n} FROM 't.csv'",
    "SELECT f.* FROM 't.csv' f JOIN t USING ({n})",
    "SELECT * FROM 't.csv' f JOIN t {n} ON {n}.a = f.a",
    "SELECT * FROM t {n} POSITIONAL JOIN 't.csv' f",
    "SELECT * FROM 't.csv', LATERAL (SELECT 1) {n}({n})",
    "SELECT * FROM (FROM 't.csv') {n}",
    "SELECT * FROM (VALUES (1)) {n}({n}), 't.csv'",
    "SELECT * FROM range(2) {n}({n}), 't.csv'",
    "SELECT * FROM {n}.{n}, 't.csv'",
    "SELECT * FROM {n}, 't.csv'",
    "SELECT * FROM 't.csv' TABLESAMPLE {n}(10%)",
    "SELECT a FROM 't.csv' GROUP BY {n}",
    "SELECT a FROM 't.csv' GROUP BY GROUPING SETS (({n}), ())",
    "SELECT a FROM 't.csv' ORDER BY {n} NULLS FIRST LIMIT 1",
    "SELECT DISTINCT ON ({n}) a FROM 't.csv'",
    "SELECT count(*) FILTER (WHERE {n} = 1) FROM 't.csv'",
    "FROM (PIVOT 't.csv' ON {n} IN (1) USING count(*))",
    "FROM (PIVOT 't.csv' ON a IN (1 AS {n}) USING count(*) AS {n} GROUP BY {n})",
    "FROM (UNPIVOT 't.csv' ON a INTO NAME {n} VALUE {n})",
    "FROM read_csv('t.csv', {n} = true)",
    "FROM read_csv('t.csv', {n} := true)",
    "FROM read_csv('t.csv', columns = {{s}: 'VARCHAR'})",
    "FROM read_csv('t.csv', names = [{s}])",
    "FROM read_csv('t.csv', delim = {s})",
    "FROM read_csv({s})",
    "FROM {s}",
    "SELECT 1 /* {s} */ FROM 't.csv' -- {s}",
});

constexpr auto kNames = std::to_array<const char*>({
    "a",
    "a b",
    "a--b",
    "a/*b",
    "a*/b",
    "a;b",
    "a'b",
    "a\"b",
    "a''b",
    "'",
    "\"",
    "--",
    "/*",
    "a.b",
    "1a",
    "a\tb",
    "a\nb",
    "a\\b",
    "a\xc3\xa4",
    "a\xc2\xa0"
    "b",
    "select",
    "SELECT",
    "values",
    "from",
    "*",
    "$1",
    "{}",
    "t.csv",
    "'t.csv'",
    "x FROM 't.csv' --",
    "x\" FROM 't.csv' --",
    "current_setting('threads') AS x FROM 't.csv' --",
    "content FROM read_text('unloaded.csv') --",
    "x FROM query('SELECT 41+1') --",
});

std::string filled(std::string text, const std::string& name) {
  for (const auto& [mark, value] : {std::pair{"{n}", base::duckdb::quote_identifier(name)},
                                    std::pair{"{s}", base::duckdb::quote_literal(name)}}) {
    for (std::size_t at = 0; (at = text.find(mark, at)) != std::string::npos;) {
      text.replace(at, 3, value);
      at += value.size();
    }
  }
  return text;
}

class RawFilesTest : public SqlTest {
 protected:
  void SetUp() override {
    SqlTest::SetUp();
    write(data + "/.hidden.key", std::string(kSecret));
    open({.allow_raw_file_sql = true});
  }
};

class Parser {
 public:
  Parser() : engine_(*base::duckdb::Engine::open({.scratch_bytes = 0})) {}
  base::json::Value tree(const std::string& sql) {
    auto connection = engine_->connect();
    std::vector<base::duckdb::Param> params{base::duckdb::Text{sql}};
    auto rows = connection->execute("SELECT json_serialize_sql($1::VARCHAR)", params);
    if (!rows || !*rows->next()) return nullptr;
    auto tree = base::json::parse(rows->bytes(0), {.bytes = 1 << 20, .depth = 1024});
    return tree ? *tree : base::json::Value();
  }

 private:
  std::unique_ptr<base::duckdb::Engine> engine_;
};

// Of each text that is anchored, the engine's tree is the judged one with the
// paths in it; and it is run, which finds what the judged one would.
TEST_F(RawFilesTest, the_anchored_statement_is_the_judged_one_whatever_its_names_hold) {
  Parser parser;
  const std::string folder = "/a folder's \"data\" -- x";
  std::size_t same = 0;
  for (const char* position : kPositions) {
    for (const char* name : kNames) {
      std::string sql = filled(position, name);
      base::json::Value tree = parser.tree(sql);
      ScreenRules rules{.tables = {"t", "u"}, .raw_files = RawFiles::kAllowed};
      Verdict verdict = screen(tree, rules);
      if (!verdict.allowed() || !verdict.names_files) continue;
      auto made = anchor_files(sql, tree, folder);
      if (!made) continue;
      EXPECT_TRUE(is_same_statement(made->tree, parser.tree(made->sql))) << sql << "\n"
                                                                         << made->sql;
      EXPECT_FALSE(is_same_statement(tree, parser.tree(made->sql))) << sql;
      ++same;
    }
  }
  EXPECT_GT(same, 1'500u);
}

TEST_F(RawFilesTest, no_name_becomes_sql) {
  int ran = 0;
  for (const char* position : kPositions) {
    for (const char* name :
         {"a--b", "a\"b'c", "x\" FROM 't.csv' --",
          "current_setting('threads') AS x FROM 't.csv' --",
          "content FROM read_text('.hidden.key') --", "x FROM query('SELECT 41+1') --"}) {
      std::string sql = filled(position, name);
      auto answer = query(sql);
      std::string end = fate(answer);
      EXPECT_TRUE(end == "ok" || end == "mistake" || end == "E_POLICY" || end == "E_LIMIT")
          << end << " of " << sql << text_of(answer);
      EXPECT_EQ(text_of(answer).find(kSecret), std::string::npos) << sql;
      if (end == "ok") EXPECT_EQ(rows_of(answer).find("42"), std::string::npos) << sql;
      ran += end == "ok" ? 1 : 0;
    }
  }
  EXPECT_GT(ran, 100);
}

struct Case {
  const char* sql;
  const char* rows;
};

constexpr auto kAllowed = std::to_array<Case>({
    {R"(SELECT "a--b".* FROM 't.csv' "a--b" ORDER BY a LIMIT 1)", R"([[1,"one"]])"},
    {R"(SELECT "my table"."a" AS "my column" FROM 't.csv' AS "my table" ORDER BY "my column" DESC)",
     "[[3],[2],[1]]"},
    {R"(SELECT "x y"."z""q" FROM 't.csv' "x y"("z""q", b) WHERE "x y".b = 'two')", "[[2]]"},
    {R"(SELECT {'it''s': a}."it's" FROM 't.csv' ORDER BY 1 LIMIT 1)", "[[1]]"},
    {R"(SELECT a FROM 't.csv' WHERE b = 'one' -- and a = 7)", "[[1]]"},
    {R"(SELECT a /* 't.csv' */ FROM "t.csv" WHERE b <> 'FROM ''t.csv''' ORDER BY a)", "[[1],[2]]"},
    {"SELECT 't.csv', 'ä', count(*) FROM 't.csv'", R"([["t.csv","ä",3]])"},
    {"SELECT count(*) FROM 't.csv' JOIN 'u.csv' USING (a)", "[[2]]"},
    {"SELECT (SELECT count(*) FROM 'u.csv') FROM 't.csv' LIMIT 1", "[[3]]"},
    {"SELECT a, sum(a) OVER (\"w 1\")::INT FROM 't.csv' WINDOW \"w 1\" AS (ORDER BY a) ORDER BY a",
     "[[1,1],[2,3],[3,6]]"},
    {"SELECT a, b, count(*) FROM 'u.csv' JOIN 't.csv' USING (a) GROUP BY GROUPING SETS ((a, b), "
     "()) "
     "ORDER BY 1",
     R"([[1,"one",1],[2,"two",1],[null,null,2]])"},
    {"SELECT * FROM (VALUES (1)) v(\"x y\") JOIN 't.csv' ON a = \"x y\"", R"([[1,1,"one"]])"},
    {"SELECT list_transform([a], \"x y\" -> \"x y\" + 1) FROM 't.csv' ORDER BY a LIMIT 1",
     "[[[2]]]"},
    {"SELECT * FROM (PIVOT 'u.csv' ON a IN (1 AS \"a b\") USING sum(c)::INT AS \"s t\")", "[[10]]"},
    {"DESCRIBE 'sub/deep.csv'", R"([["x","BIGINT","YES",null,null,null]])"},
    {"SELECT column_name FROM (SUMMARIZE 'u.csv') ORDER BY 1", R"([["a"],["c"]])"},
});

TEST_F(RawFilesTest, harmless_statements_run) {
  for (const Case& c : kAllowed) EXPECT_EQ(rows_of(c.sql), c.rows) << c.sql;
}

// The select list and what is behind it stand in a name.
constexpr auto kAttacks = std::to_array<const char*>({
    "current_setting('threads') AS x FROM",
    "* FROM duckdb_settings(),",
    "* FROM query('SELECT 41+1'),",
    "* FROM sniff_csv('{data}/t.csv'),",
    "* FROM glob('{data}/*'),",
    "* FROM force_checkpoint(),",
    "content FROM read_text('{data}/.hidden.key'),",
    "content FROM read_text('{out}/o.csv'),",
    "length(repeat('x', 300000000)) FROM",
    "* FROM enable_logging('QueryLog'),",
    "* FROM enable_logging('QueryLog', storage_path := '{data}/log.csv'),",
    "* FROM enable_logging('QueryLog', storage_path := '{data}/t.csv'),",
    "* FROM duckdb_logs(),",
});

TEST_F(RawFilesTest, a_select_list_in_a_name_is_a_name) {
  for (const char* attack : kAttacks) {
    for (const char* file : {"'t.csv'", "read_csv('t.csv')"}) {
      std::string name = base::duckdb::quote_identifier(placed(attack) + " 't.csv' --");
      auto answer = query("SELECT " + name + ".* FROM " + file);
      // There is no relation of that name: a mistake like any other.
      EXPECT_EQ(fate(answer), "mistake") << name << text_of(answer);
      EXPECT_EQ(rows_of("SELECT " + name + ".* FROM " + file + " AS " + name + " LIMIT 1"),
                R"([[1,"one"]])");
      EXPECT_EQ(text_of(answer).find(kSecret), std::string::npos) << name;
    }
  }
  EXPECT_FALSE(std::filesystem::exists(data + "/log.csv"));
  EXPECT_EQ(std::filesystem::file_size(data + "/t.csv"), 19u);
}

TEST_F(RawFilesTest, a_file_is_named_in_plain_quotes) {
  for (const char* sql : {"FROM E't.csv'", "FROM $$t.csv$$", "FROM $x$t.csv$x$",
                          "FROM read_csv($$t.csv$$)", "FROM read_csv(E't\\x2ecsv')",
                          "FROM read_csv('t'\n'.csv')", "SELECT\xc2\xa0 1 FROM 't.csv'"}) {
    auto answer = query(sql);
    EXPECT_EQ(fate(answer), "E_POLICY") << sql << text_of(answer);
    EXPECT_TRUE(text_of(answer).contains("plain quotes")) << text_of(answer);
  }
}

TEST_F(RawFilesTest, trees_differ_by_more_than_a_place) {
  auto same = [](const char* one, const char* other) {
    return is_same_statement(*base::json::parse(one), *base::json::parse(other));
  };
  EXPECT_TRUE(same(R"({"query_location":1,"a":[1,{"b":null}]})",
                   R"({"a":[1,{"b":null}],"query_location":7})"));
  EXPECT_FALSE(same(R"({"query_location":1})", R"({"query_location":"x"})"));
  EXPECT_FALSE(same(R"({"query_location":1})", R"({"location":1})"));
  EXPECT_FALSE(same(R"({"a":1})", R"({"a":1,"b":1})"));
  EXPECT_FALSE(same(R"({"a":1,"b":1})", R"({"a":1})"));
  EXPECT_FALSE(same("[1,2]", "[2,1]"));
  EXPECT_FALSE(same("[1]", "[1,1]"));
  EXPECT_FALSE(same(R"({"a":"x"})", R"({"a":"y"})"));
  EXPECT_FALSE(same(R"({"a":{}})", R"({"a":[]})"));
}

}  // namespace
}  // namespace tool::connectors
