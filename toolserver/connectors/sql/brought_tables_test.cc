// Tables whose files the service brings: what their views give, and what statements over them may
// name.

#include "toolserver/connectors/sql/brought_tables.h"

#include <gtest/gtest.h>

#include "base/duckdb/engine.h"
#include "base/testing/child_process.h"
#include "toolserver/connectors/sql/sql_arguments.h"
#include "toolserver/connectors/sql/sql_work.h"

namespace tool::connectors {
namespace {

class BroughtTables : public ::testing::Test {
 protected:
  void SetUp() override {
    auto writer = base::duckdb::Engine::open(
        {.scratch_dir = folder_.path(), .external_access = base::duckdb::ExternalAccess::kOpen});
    ASSERT_TRUE(writer) << writer.error().message() << writer.error().detail();
    writer_ = std::move(*writer);
    SqlOptions options;
    options.data_dir = folder_.path();
    options.brings_tables = true;
    auto work = SqlWork::open(options);
    ASSERT_TRUE(work) << work.error().message() << work.error().detail();
    work_ = std::move(*work);
    write("f0", "SELECT i AS id, 'x' || i AS name FROM range(4) t(i)", "id: 1, name: 2");
    write("f1", "SELECT i AS id, 'y' || i AS before FROM range(4, 8) t(i)", "id: 1, before: 2");
  }

  void write(const std::string& name, const std::string& query, const std::string& ids) {
    auto connection = writer_->connect();
    auto done = connection->execute("COPY (" + query + ") TO '" + folder_.path() + "/" + name +
                                    "' (FORMAT parquet" +
                                    (ids.empty() ? "" : ", FIELD_IDS {" + ids + "}") + ")");
    ASSERT_TRUE(done) << done.error().message() << done.error().detail();
  }
  Outcome<ToolResult> bring(std::vector<BroughtTable> tables) {
    SqlCall call(soon());
    return work_->bring_tables(tables, call);
  }
  // The rows as JSON; a refusal or a mistake as its text.
  std::string query(const std::string& sql) {
    SqlCall call(soon());
    return text(work_->query({.sql = sql, .params = {}, .rows = 100}, call));
  }
  std::string names(const std::string& sql) {
    SqlCall call(soon());
    auto answer = work_->name_tables(sql, call);
    return answer && !answer->is_error ? base::json::write(answer->structured->at("tables"))
                                       : text(answer);
  }
  static std::string text(const Outcome<ToolResult>& answer) {
    if (!answer) return std::string(name(answer.error().code)) + " " + answer.error().message;
    if (answer->is_error) return answer->content.at(0).data;
    return base::json::write(answer->structured->at("rows"));
  }
  static base::Deadline soon() {
    return std::chrono::steady_clock::now() + std::chrono::seconds(30);
  }
  static BroughtTable table(std::vector<BroughtFile> files) {
    return {.name = {"sales", "orders"},
            .columns = {{.id = 1, .name = "id", .type = "BIGINT"},
                        {.id = 2, .name = "name", .type = "VARCHAR"}},
            .files = std::move(files)};
  }

  base::testing::TemporaryFolder folder_;
  std::unique_ptr<base::duckdb::Engine> writer_;
  std::unique_ptr<SqlWork> work_;
};

TEST_F(BroughtTables, find_each_column_by_its_id_whatever_it_was_called) {
  ASSERT_FALSE(bring({table({{"f0"}, {"f1"}})})->is_error);
  EXPECT_EQ(query("SELECT id, name FROM sales.orders WHERE id IN (1, 5) ORDER BY id"),
            R"([[1,"x1"],[5,"y5"]])");
  EXPECT_EQ(query("SELECT count(*) FROM Sales.ORDERS"), "[[8]]") << "the engine folds case";
}

TEST_F(BroughtTables, leave_out_deleted_positions_of_that_file_alone) {
  write("f2",
        "SELECT p AS file_path, unnest(o)::BIGINT AS pos FROM (VALUES ('s3://b/zero', [0, 2]), "
        "('s3://b/other', [1])) t(p, o)",
        "file_path: 2147483546, pos: 2147483545");
  ASSERT_FALSE(
      bring({table({{"f0", {{"f2", "s3://b/zero"}}}, {"f1", {{"f2", "s3://b/one"}}}})})->is_error);
  EXPECT_EQ(query("SELECT list(id ORDER BY id) FROM sales.orders"), "[[[1,3,4,5,6,7]]]");
}

TEST_F(BroughtTables, have_nulls_for_a_column_that_a_file_lacks_and_rows_without_files) {
  BroughtTable more = table({{"f0"}});
  more.columns.push_back({.id = 3, .name = "added", .type = "DATE"});
  BroughtTable none = table({});
  none.name.table = "nothing";
  ASSERT_FALSE(bring({more, none})->is_error);
  EXPECT_EQ(query("SELECT count(*), count(added) FROM sales.orders"), "[[4,0]]");
  EXPECT_EQ(query("SELECT count(*) FROM sales.nothing"), "[[0]]");
}

TEST_F(BroughtTables, are_refused_where_a_value_would_be_guessed) {
  write("plain", "SELECT 1 AS id, 'x' AS name", "");
  EXPECT_EQ(text(bring({table({{"f0"}, {"plain"}})})),
            "the table sales.orders cannot be read here: id has no field id in a file");
  BroughtTable elsewhere = table({{"f0"}});
  elsewhere.columns.push_back({.id = 3, .name = "region", .type = "VARCHAR", .is_elsewhere = true});
  EXPECT_TRUE(text(bring({elsewhere})).contains("region is not in a file"));
  write("nested", "SELECT 1 AS id, {'a': 1, 'b': 2} AS name",
        "id: 1, name: {__duckdb_field_id: 2, a: 3, b: 4}");
  BroughtTable nested = table({{"nested"}});
  nested.columns[1] = {.id = 2,
                       .name = "name",
                       .type = "STRUCT(a INTEGER, c INTEGER)",
                       .fields = {{3, "a"}, {4, "c"}}};
  EXPECT_TRUE(text(bring({nested})).contains("name was changed inside"));
  nested.columns[1].type = "STRUCT(a INTEGER, b INTEGER)";
  nested.columns[1].fields[4] = "b";
  EXPECT_FALSE(bring({nested})->is_error) << "the one beside it";
  EXPECT_EQ(query("SELECT name.b FROM sales.orders"), "[[2]]");
}

TEST_F(BroughtTables, of_names_that_differ_in_case_are_refused) {
  BroughtTable other = table({{"f1"}});
  other.name.table = "Orders";
  EXPECT_TRUE(text(bring({table({{"f0"}}), other})).contains("upper and lower case"));
}

TEST_F(BroughtTables, are_all_that_a_statement_may_name) {
  ASSERT_FALSE(bring({table({{"f0"}})})->is_error);
  const std::string file = folder_.path() + "/f1";
  for (const std::string& sql : {
           std::string("SELECT * FROM sales.customers"),
           std::string("SELECT * FROM orders"),
           std::string("SELECT * FROM \"" + file + "\""),
           std::string("SELECT * FROM sales.\"" + file + "\""),
           std::string("SELECT * FROM memory.sales.orders"),
           std::string("SELECT * FROM other.sales.orders"),
           std::string("SELECT * FROM main.orders"),
           std::string("SELECT * FROM information_schema.tables"),
           std::string("SELECT * FROM pg_catalog.pg_tables"),
           std::string("SELECT * FROM duckdb_views()"),
           std::string("SELECT * FROM read_parquet('" + file + "')"),
           std::string("SELECT * FROM glob('/*')"),
           std::string("SELECT getenv('HOME')"),
           std::string("SELECT current_setting('memory_limit')"),
           std::string("ATTACH '" + file + "'"),
           std::string("SET memory_limit = '1GB'"),
           std::string("INSTALL httpfs"),
           std::string("COPY sales.orders TO '" + file + "x'"),
           std::string("CREATE TABLE sales.x AS SELECT 1"),
           std::string("DROP VIEW sales.orders"),
           std::string("SELECT 1; SELECT 2"),
       }) {
    const std::string said = query(sql);
    EXPECT_TRUE(said.starts_with("E_POLICY") || said.starts_with("there is no table"))
        << sql << said;
    EXPECT_FALSE(said.contains("y4")) << sql;
  }
  EXPECT_EQ(query("WITH o AS (SELECT * FROM sales.orders) SELECT max(id) FROM o"), "[[3]]");
}

TEST_F(BroughtTables, are_named_by_a_statement_before_it_runs) {
  EXPECT_EQ(names("SELECT * FROM sales.orders o JOIN \"a.b\".c USING (id) WHERE EXISTS (FROM x.y)"),
            R"([{"namespace":"a.b","table":"c"},{"namespace":"sales","table":"orders"},)"
            R"({"namespace":"x","table":"y"}])");
  EXPECT_EQ(names("SELECT 1"), "[]");
  EXPECT_TRUE(names("SELECT * FROM read_csv('/etc/passwd')").starts_with("E_POLICY"));
  EXPECT_TRUE(names("DROP TABLE sales.orders").starts_with("E_POLICY"));
  EXPECT_TRUE(names("SELECT * FROM main.x").starts_with("E_POLICY"));
}

TEST(BroughtTable, comes_as_it_was_sent_and_names_no_place) {
  BroughtTable sent{.name = {"a.b", "t"},
                    .columns = {{.id = 1,
                                 .name = "s",
                                 .type = "STRUCT(a INTEGER)[]",
                                 .fields = {{3, "a"}},
                                 .elements = {2},
                                 .is_elsewhere = true}},
                    .files = {{"f0", {{"f1", "s3://b/'x"}}}}};
  const base::json::Value json(to_json(sent));
  auto read = read_brought_table(*base::json::Fields::of(json, ""));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(to_json(*read), json.as_object());
  for (const char* bad : {"../f0", "/etc/passwd", "", "F", "a/b", "f0.parquet"}) {
    sent.files[0].file = bad;
    const base::json::Value other(to_json(sent));
    EXPECT_FALSE(read_brought_table(*base::json::Fields::of(other, ""))) << bad;
  }
}

TEST(BroughtOrders, are_the_services_alone) {
  const auto asked = [](const char* tool, bool brings) {
    SqlOptions options;
    options.brings_tables = brings;
    Invocation call{.tool = *ToolId::parse(tool), .args = {{"sql", "SELECT 1"}}};
    return sql_request(call, options).has_value();
  };
  EXPECT_TRUE(asked("sql.name_tables", true));
  EXPECT_FALSE(asked("sql.name_tables", false));
  EXPECT_FALSE(asked("sql.list_tables", true));
  EXPECT_TRUE(asked("sql.query", true));
}

}  // namespace
}  // namespace tool::connectors
