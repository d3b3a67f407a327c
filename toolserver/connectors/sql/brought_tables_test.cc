// Tables whose files the service brings: what their views give, and what statements over them may
// name.

#include "toolserver/connectors/sql/brought_tables.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/duckdb/engine.h"
#include "base/puffin/deletion_vector.h"
#include "base/testing/child_process.h"
#include "toolserver/connectors/sql/parquet_parts.h"
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
  void write_bytes(const std::string& name, std::string_view bytes) {
    std::ofstream(folder_.path() + "/" + name, std::ios::binary) << bytes;
  }
  void write_vector(const std::string& name, const std::vector<std::int64_t>& positions) {
    write_bytes(name, base::puffin::write_deletion_vector(positions));
  }
  // What is there of a file once its end and the parts that these columns need are.
  void leave_parts(const std::string& name, const BroughtTable& table) {
    SqlCall call(soon());
    auto found = work_->find_parts({table}, call);
    ASSERT_TRUE(found && !found->is_error) << text(found);
    const std::string path = folder_.path() + "/" + name;
    std::ifstream in(path, std::ios::binary);
    std::string whole(std::istreambuf_iterator<char>(in), {});
    std::string parted(whole.size(), '\0');
    const auto keep = [&](std::size_t begin, std::size_t end) {
      std::copy(whole.begin() + static_cast<std::ptrdiff_t>(begin),
                whole.begin() + static_cast<std::ptrdiff_t>(end),
                parted.begin() + static_cast<std::ptrdiff_t>(begin));
      kept_ += end - begin;
    };
    const auto& parts = found->structured->at("files").at(0).at("parts").as_array();
    for (std::size_t i = 0; i < parts.size(); i += 2) {
      keep(static_cast<std::size_t>(parts[i].as_int64()),
           static_cast<std::size_t>(parts[i + 1].as_int64()));
    }
    std::uint32_t footer = 0;
    std::memcpy(&footer, whole.data() + whole.size() - 8, sizeof footer);
    keep(whole.size() - 8 - footer, whole.size());
    write_bytes(name, parted);
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
    auto answer = work_->name_tables(sql, {}, call);
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
  std::size_t kept_ = 0;
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

TEST_F(BroughtTables, leave_out_the_rows_of_deletion_vectors) {
  write_vector("v0", {0, 2});
  write_vector("v1", {3});
  write("f2", "SELECT 's3://b/one' AS file_path, 0::BIGINT AS pos",
        "file_path: 2147483546, pos: 2147483545");
  // One file by both: a vector stands for all before it, and the lake's plan names no other then.
  ASSERT_FALSE(
      bring({table({{"f0", {{"v0", {}}}}, {"f1", {{"v1", {}}, {"f2", "s3://b/one"}}}})})->is_error);
  EXPECT_EQ(query("SELECT list(id ORDER BY id) FROM sales.orders"), "[[[1,3,5,6]]]");
  EXPECT_EQ(query("SELECT count(*) FROM sales.orders WHERE id = 7"), "[[0]]");
}

TEST_F(BroughtTables, leave_out_many_rows_of_many_files) {
  BroughtTable many = table({});
  std::vector<std::int64_t> even;
  for (std::int64_t i = 0; i < 1'500'000; i += 2) even.push_back(i);
  write("big", "SELECT i AS id, 'x' AS name FROM range(1500000) t(i)", "id: 1, name: 2");
  write_vector("vbig", even);
  many.files.push_back({"big", {{"vbig", {}}}});
  for (int i = 0; i < 20; ++i) {
    many.files.push_back({i % 2 == 0 ? "f0" : "f1", {{"v" + std::to_string(i), {}}}});
    write_vector("v" + std::to_string(i), {i % 4});
  }
  many.files.push_back({"f0"});
  ASSERT_FALSE(bring({many})->is_error);
  EXPECT_EQ(query("SELECT count(*), count(*) FILTER (id % 2 = 0 AND name = 'x') FROM sales.orders"),
            "[[750064,0]]");
}

TEST_F(BroughtTables, are_refused_where_a_vector_is_none) {
  std::string vector = base::puffin::write_deletion_vector(std::vector<std::int64_t>{1, 2});
  vector[10] ^= 1;
  write_bytes("broken", vector);
  EXPECT_EQ(text(bring({table({{"f0", {{"broken", {}}}}})})),
            "the table sales.orders cannot be read here: a deletion vector of it is broken");
  EXPECT_TRUE(text(bring({table({{"f0", {{"absent", {}}}}})})).contains("is broken"));
  // A few bytes of runs: more rows than the engine is given.
  std::vector<std::int64_t> run(kMostDeleted + 1);
  for (std::size_t i = 0; i < run.size(); ++i) run[i] = static_cast<std::int64_t>(i);
  write_vector("long", run);
  EXPECT_LT(std::filesystem::file_size(folder_.path() + "/long"), 2000U);
  EXPECT_TRUE(text(bring({table({{"f0", {{"long", {}}}}})}))
                  .contains("over 4194304 rows of it are deleted"));
}

TEST_F(BroughtTables, find_rows_by_the_engines_numbers_and_no_column_of_that_name) {
  write_vector("v0", {0});
  write("numbered", "SELECT i AS id, 0 AS file_row_number FROM range(3) t(i)",
        "id: 1, file_row_number: 2");
  write("indexed", "SELECT i AS id, 7 AS FILE_INDEX FROM range(3) t(i)", "id: 1, FILE_INDEX: 2");
  for (const char* file : {"numbered", "indexed"}) {
    BroughtTable one = table({{file, {{"v0", {}}}}});
    one.columns.pop_back();
    EXPECT_TRUE(text(bring({one})).contains("file_row_number")) << file;
    one.files[0].deletes.clear();
    one.name.table = file;
    EXPECT_FALSE(bring({one})->is_error) << "without deletes";
  }
}

TEST_F(BroughtTables, read_files_of_other_types_each_by_its_own) {
  write("narrow", "SELECT 1::INTEGER AS id, 'n' AS name", "id: 1, name: 2");
  write("wide", "SELECT 5000000000 AS id, 'w' AS name", "id: 1, name: 2");
  ASSERT_FALSE(bring({table({{"narrow"}, {"wide"}})})->is_error);
  EXPECT_EQ(query("SELECT list(id ORDER BY id)::VARCHAR FROM sales.orders"),
            R"([["[1, 5000000000]"]])");
}

// The engine reads nothing of what is not there; if it did, it would fail.
TEST_F(BroughtTables, need_no_more_of_a_file_than_the_parts_of_their_columns) {
  std::string list = "i AS id, 'x' || (i % 100) AS name, {'a': i, 'b': [i]} AS nested";
  std::string ids = "id: 1, name: 2, nested: {__duckdb_field_id: 3, a: 4, b: 5}";
  for (int i = 0; i < 40; ++i) {
    list += ", hash(i + " + std::to_string(i) + ") AS c" + std::to_string(i);
    ids += ", c" + std::to_string(i) + ": " + std::to_string(10 + i);
  }
  const auto fresh = [&](const std::string& name) {
    write(name, "SELECT " + list + " FROM range(150000) t(i)", ids);
  };
  fresh("wide");
  const auto size = std::filesystem::file_size(folder_.path() + "/wide");
  leave_parts("wide", table({{"wide"}}));
  EXPECT_LT(kept_, size / 10);
  ASSERT_FALSE(bring({table({{"wide"}})})->is_error);
  EXPECT_EQ(query("SELECT count(*), sum(id)::BIGINT, count(DISTINCT name), min(id) FILTER (name = "
                  "'x7') FROM sales.orders"),
            "[[150000,11249925000,100,7]]");
  EXPECT_EQ(query("SELECT id FROM sales.orders WHERE name = 'x99' AND id > 149990"), "[[149999]]");
  EXPECT_TRUE(query("SELECT c3 FROM sales.orders").contains("c3")) << "is no column of it";
  fresh("nested");
  BroughtTable nested = table({{"nested"}});
  nested.name.table = "nested";
  nested.columns = {{.id = 3,
                     .name = "nested",
                     .type = "STRUCT(a BIGINT, b BIGINT[])",
                     .fields = {{4, "a"}, {5, "b"}},
                     .elements = {}}};
  leave_parts("nested", nested);
  ASSERT_FALSE(bring({nested})->is_error);
  EXPECT_EQ(query("SELECT sum(nested.a + nested.b[1])::BIGINT FROM sales.nested"),
            "[[22499850000]]");
  // With a wrong table of what is read it fails, and gives no rows.
  BroughtTable other = table({{"nested"}});
  other.name.table = "others";
  ASSERT_FALSE(bring({other})->is_error);
  const std::string said = query("SELECT sum(id) FROM sales.others");
  EXPECT_TRUE(!said.starts_with("[[")) << said;
}

TEST_F(BroughtTables, of_which_no_column_is_named_have_their_number_of_rows) {
  write_vector("v0", {1});
  BroughtTable none = table({{"f0", {{"v0", {}}}}, {"f1"}});
  none.columns.clear();
  leave_parts("f0", table({{"f0"}}));
  ASSERT_FALSE(bring({none})->is_error);
  EXPECT_EQ(query("SELECT count(*) FROM sales.orders"), "[[7]]");
  EXPECT_TRUE(query("SELECT id FROM sales.orders").contains("id"));
}

TEST(ParquetParts, that_lie_close_are_one) {
  using Parts = std::vector<FilePart>;
  EXPECT_EQ(joined_parts({{50, 60}, {0, 10}, {10, 20}, {25, 30}, {5, 8}, {70, 70}}, 5),
            (Parts{{0, 30}, {50, 60}}));
  EXPECT_EQ(joined_parts({{0, 10}, {16, 20}}, 5), (Parts{{0, 10}, {16, 20}}));
  EXPECT_EQ(joined_parts({}, 5), Parts{});
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
           std::string("SELECT * FROM memory.main.\"deleted rows 0\""),
           std::string("SELECT * FROM main.\"deleted rows 0\""),
           std::string("SELECT * FROM \"deleted rows 0\""),
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
                    .files = {{"f0", {{"f1", "s3://b/'x"}, {"f2", {}}}}}};
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
  EXPECT_FALSE(asked("sql.find_parts", false));
  EXPECT_FALSE(asked("sql.name_tables", false));
  EXPECT_FALSE(asked("sql.list_tables", true));
  EXPECT_TRUE(asked("sql.query", true));
}

}  // namespace
}  // namespace tool::connectors
