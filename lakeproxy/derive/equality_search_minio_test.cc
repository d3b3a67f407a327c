#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/golden.h"
#include "lakeproxy/derive/equality_fixture_test.h"

namespace lake::exporter {
namespace {

using base::ErrorKind;
using base::testing::read_golden;
using model::FileContent;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using EqualitySearchMinioTest = EqualityFixture;

TEST_F(EqualitySearchMinioTest, null_equals_null_and_all_columns_must) {
  auto keys = deletes(
      "k", {1, 2}, "SELECT * FROM (VALUES (1, 'a'), (2, NULL), (NULL, 'c')) t(i, n)", "i: 1, n: 2");
  auto rows = data("d",
                   "SELECT * FROM (VALUES (1, 'a'), (1, 'b'), (2, NULL), (2, 'a'), (NULL, 'c'), "
                   "(NULL, NULL), (1, 'a')) t(i, n)",
                   "i: 1, n: 2");
  EXPECT_THAT(rows_of(find({keys}, {rows}), "d"), ElementsAre(0, 2, 4, 6));
}

TEST_F(EqualitySearchMinioTest, only_delete_columns_count_and_names_do_not) {
  auto keys = deletes("k", {2}, "SELECT 7 AS x, 'b' AS old_name, 'no' AS extra",
                      "x: 1, old_name: 2, extra: 99");
  auto rows = data("d", "SELECT 'b' AS id, i AS name FROM range(3) r(i)", "id: 2, name: 1");
  EXPECT_THAT(rows_of(find({keys}, {rows}), "d"), ElementsAre(0, 1, 2));
}

TEST_F(EqualitySearchMinioTest, columns_in_structs_are_compared) {
  auto keys = deletes("k", {4}, "SELECT {'a': 5} AS s UNION ALL SELECT NULL",
                      "s: {__duckdb_field_id: 3, a: 4}");
  auto rows = data("d",
                   "SELECT unnest([{'y': 1, 'x': 5}, {'y': 5, 'x': 6}, NULL, {'y': 1, 'x': NULL}]) "
                   "AS p",
                   "p: {__duckdb_field_id: 3, y: 5, x: 4}");
  // A null struct has null fields.
  EXPECT_THAT(rows_of(find({keys}, {rows}), "d"), ElementsAre(0, 2, 3));
}

TEST_F(EqualitySearchMinioTest, older_types_are_widened_on_both_sides) {
  struct Case {
    const char* name;
    model::FieldId id;
    std::string key;
    std::string value;
    std::size_t found;
  };
  const Case cases[] = {
      {"long of int", 1, "5::BIGINT", "5::INT", 1},
      {"int key of long", 1, "5::INT", "5::BIGINT", 1},
      {"key over the int", 1, "4294967301::BIGINT", "5::INT", 0},
      {"long of unsigned", 1, "4294967295::BIGINT", "4294967295::UINTEGER", 1},
      {"long of small", 1, "-3::BIGINT", "-3::TINYINT", 1},
      {"decimal of fewer digits", 9, "1.50::DECIMAL(9,2)", "1.50::DECIMAL(4,2)", 1},
      {"another decimal", 9, "15.00::DECIMAL(9,2)", "1.50::DECIMAL(4,2)", 0},
      {"timestamp of date", 10, "'2020-01-02'::TIMESTAMP", "'2020-01-02'::DATE", 1},
      {"timestamp beside the date", 10, "'2020-01-02 00:00:01'::TIMESTAMP", "'2020-01-02'::DATE",
       0},
      {"uuid of bytes", 11, "'00112233-4455-6677-8899-aabbccddeeff'::UUID",
       "unhex('00112233445566778899aabbccddeeff')", 1},
      {"bytes", 12, "unhex('00ff')", "unhex('00ff')", 1},
      {"longer bytes", 12, "unhex('00ff')", "unhex('00ff00')", 0},
      {"text", 2, "'Ä''s'", "'Ä''s'", 1},
      {"text of another case", 2, "'A'", "'a'", 0},
  };
  for (const Case& c : cases) {
    std::string ids = "v: " + std::to_string(c.id);
    auto found = find({deletes("k", {c.id}, "SELECT " + c.key + " AS v", ids)},
                      {data("d", "SELECT " + c.value + " AS v", ids)});
    EXPECT_EQ(rows_of(found, "d").size(), c.found) << c.name;
  }
}

TEST_F(EqualitySearchMinioTest, a_column_that_the_file_lacks_has_its_constant_default_or_null) {
  auto of = [&](const std::string& key, std::optional<Candidate> given = {}) {
    auto keys = deletes("k", {1}, "SELECT " + key + "::BIGINT AS v", "v: 1");
    auto rows = given ? *given : data("d", "SELECT 'a' AS n FROM range(2)", "n: 2");
    return rows_of(find({keys}, {rows}), "d").size();
  };
  EXPECT_EQ(of("NULL"), 2);
  EXPECT_EQ(of("7"), 0);
  schema.fields[0].initial_default = model::Literal(std::int64_t{7});
  EXPECT_EQ(of("7"), 2);
  EXPECT_EQ(of("NULL"), 0);
  Candidate with_constant = data("d", "SELECT 'a' AS n FROM range(2)", "n: 2");
  with_constant.constants = {{1, model::Literal(std::int64_t{8})}};
  EXPECT_EQ(of("8", with_constant), 2);
  EXPECT_EQ(of("7", with_constant), 0);
  with_constant.constants = {{1, std::nullopt}};
  EXPECT_EQ(of("NULL", with_constant), 2);
  // What the file holds counts more.
  Candidate held = data("d", "SELECT 9 AS i", "i: 1");
  held.constants = {{1, model::Literal(std::int64_t{8})}};
  EXPECT_EQ(of("9", held), 1);
  EXPECT_EQ(of("8", held), 0);
}

TEST_F(EqualitySearchMinioTest, a_field_that_a_struct_lacks_is_null_where_the_struct_is) {
  schema.fields[2].type =
      model::Type::structure({{.id = 4,
                               .name = "x",
                               .type = model::Type(model::TypeKind::kLong),
                               .initial_default = model::Literal(std::int64_t{3})}});
  auto keys = [&](const std::string& key) {
    return deletes("k", {4}, "SELECT {'x': " + key + "::BIGINT} AS s",
                   "s: {__duckdb_field_id: 3, x: 4}");
  };
  auto rows = data("d", "SELECT unnest([{'z': 1}, NULL]) AS s", "s: {__duckdb_field_id: 3, z: 77}");
  EXPECT_THAT(rows_of(find({keys("3")}, {rows}), "d"), ElementsAre(0));
  EXPECT_THAT(rows_of(find({keys("NULL")}, {rows}), "d"), ElementsAre(1));
}

TEST_F(EqualitySearchMinioTest, a_file_without_ids_needs_a_name_mapping) {
  auto keys = deletes("k", {4}, "SELECT {'x': 5::BIGINT} AS s", "s: {__duckdb_field_id: 3, x: 4}");
  Candidate rows{.file = file("d", engine.parquet("SELECT {'x': 1, 'ex': 5} AS p")),
                 .deletes = {0}};
  auto refused = find({keys}, {rows});
  ASSERT_EQ(kind_of(refused), ErrorKind::kUnsupported);
  EXPECT_THAT(refused.error().message(), HasSubstr(at("lake/d")));
  rows.names = {{{.id = 3, .names = {"point", "p"}, .fields = {{4, {"ex"}, {}}}}}};
  EXPECT_THAT(rows_of(find({keys}, {rows}), "d"), ElementsAre(0));
  rows.names = {{{.id = 3, .names = {"p"}, .fields = {{4, {"x"}, {}}}}}};
  EXPECT_THAT(rows_of(find({keys}, {rows}), "d"), IsEmpty());
  // Ids in the file count more than the mapping.
  Candidate mixed = data("m", "SELECT {'x': 5, 'ex': 1} AS p", "p: {__duckdb_field_id: 3, x: 4}");
  mixed.names = {{{.id = 3, .names = {"p"}, .fields = {{4, {"ex"}, {}}}}}};
  EXPECT_THAT(rows_of(find({keys}, {mixed}), "m"), ElementsAre(0));
}

TEST_F(EqualitySearchMinioTest, each_candidate_has_its_own_delete_files) {
  auto one = deletes("k1", {1}, "SELECT 1 AS v", "v: 1");
  auto two = deletes("k2", {1}, "SELECT 2 AS v", "v: 1");
  auto text = deletes("k3", {2}, "SELECT 'c' AS v", "v: 2");
  const std::string query = "SELECT * FROM (VALUES (1, 'a'), (2, 'b'), (3, 'c')) t(i, n)";
  std::vector<Candidate> candidates;
  for (const std::string& name : {"a", "b", "c", "d"}) {
    candidates.push_back(data(name, query, "i: 1, n: 2"));
  }
  candidates[0].deletes = {0};
  candidates[1].deletes = {1};
  candidates[2].deletes = {0, 1, 2};
  candidates[3].deletes = {};
  auto found = find({one, two, text}, candidates);
  EXPECT_THAT(rows_of(found, "a"), ElementsAre(0));
  EXPECT_THAT(rows_of(found, "b"), ElementsAre(1));
  EXPECT_THAT(rows_of(found, "c"), ElementsAre(0, 1, 2));
  EXPECT_EQ(found->size(), 3);
}

TEST_F(EqualitySearchMinioTest, delete_files_of_other_writers_are_read) {
  auto java = file("java", read_golden("deletes/java_equality.parquet"));
  java.content = FileContent::kEqualityDeletes;
  java.equality_ids = {2};
  auto rows =
      data("d", "SELECT unnest([1, 2, 3]) AS i, unnest(['a', 'b', NULL]) AS n", "i: 1, n: 2");
  EXPECT_THAT(rows_of(find({java}, {rows}), "d"), ElementsAre(1, 2));
  auto pyarrow = file("pyarrow", read_golden("deletes/pyarrow_equality.parquet"));
  pyarrow.content = FileContent::kEqualityDeletes;
  pyarrow.equality_ids = {1, 4};
  auto points = data("p",
                     "SELECT * FROM (VALUES (1::BIGINT, {'x': 10}), (2, {'x': 10}), (2, NULL), "
                     "(NULL, NULL)) t(i, p)",
                     "i: 1, p: {__duckdb_field_id: 3, x: 4}");
  EXPECT_THAT(rows_of(find({pyarrow}, {points}), "p"), ElementsAre(0, 2, 3));
}

// Row groups, pages and a bloom filter between holes give what a whole file gives.
TEST_F(EqualitySearchMinioTest, a_file_is_read_in_parts_as_if_it_were_whole) {
  const std::string query =
      "SELECT hash(i)::VARCHAR || hash(i + 1)::VARCHAR AS pad, (i * 7919) % 50000 AS i, "
      "hash(i, 2)::VARCHAR || hash(i, 3)::VARCHAR AS pad2, 'n' || (i % 97) AS n FROM range(300000) "
      "r(i)";
  auto rows = data("d", query, "i: 1, n: 2");
  ASSERT_GT(rows.file.file_size_in_bytes, 16 << 20);
  auto keys = deletes("k", {1, 2}, "SELECT i * 100 AS i, 'n' || (i % 97) AS n FROM range(400) r(i)",
                      "i: 1, n: 2");
  auto found = rows_of(find({keys}, {rows}), "d");
  auto connection = *engine->connect();
  auto expected = connection.execute(
      "SELECT CAST(r AS BIGINT) FROM (SELECT *, row_number() OVER () - 1 AS r FROM (" + query +
      ")) WHERE i % 100 = 0 AND i < 40000 AND n = 'n' || ((i // 100) % 97) ORDER BY r");
  ASSERT_TRUE(expected) << expected.error().detail();
  Positions wanted;
  while (*expected->next()) wanted.push_back(expected->int64(0));
  EXPECT_GT(wanted.size(), 10);
  EXPECT_EQ(found, wanted);
}

// Some can share a scan and some cannot; which is which must not be seen.
TEST_F(EqualitySearchMinioTest, files_that_differ_are_searched_side_by_side) {
  auto keys = deletes("k", {1}, "SELECT 13::BIGINT AS v", "v: 1");
  auto rows = [](const std::string& list) { return "SELECT " + list + " FROM range(20) r(i)"; };
  std::vector<Candidate> candidates{
      data("plain", rows("i AS v, i::INTEGER AS x"), "v: 1, x: 20"),
      data("narrow", rows("(i + 1)::INTEGER AS v"), "v: 1"),
      data("other-type-beside", rows("'z' AS x, i + 2 AS v"), "x: 20, v: 1"),
      data("renamed", rows("i + 3 AS w"), "w: 1"),
      data("names-changed-places", rows("i + 4 AS w, i AS v"), "w: 1, v: 21"),
      data("another-case", rows("i + 5 AS \"V\""), "\"V\": 1"),
      data("without", rows("i AS x"), "x: 20"),
      data("struct-beside", rows("{'v': i} AS x, i + 6 AS v"),
           "x: {__duckdb_field_id: 20, v: 21}, v: 1"),
      data("none", rows("i + 14 AS v"), "v: 1")};
  auto found = find({keys}, candidates);
  EXPECT_THAT(rows_of(found, "plain"), ElementsAre(13));
  EXPECT_THAT(rows_of(found, "narrow"), ElementsAre(12));
  EXPECT_THAT(rows_of(found, "other-type-beside"), ElementsAre(11));
  EXPECT_THAT(rows_of(found, "renamed"), ElementsAre(10));
  EXPECT_THAT(rows_of(found, "names-changed-places"), ElementsAre(9));
  EXPECT_THAT(rows_of(found, "another-case"), ElementsAre(8));
  EXPECT_THAT(rows_of(found, "struct-beside"), ElementsAre(7));
  EXPECT_EQ(found->size(), 7U);
}

TEST_F(EqualitySearchMinioTest, files_whose_structs_differ_are_searched_side_by_side) {
  auto keys = deletes("k", {4}, "SELECT {'x': 5} AS p", "p: {__duckdb_field_id: 3, x: 4}");
  std::vector<Candidate> candidates{
      data("both", "SELECT unnest([{'x': 5, 'y': 1}]) AS p",
           "p: {__duckdb_field_id: 3, x: 4, y: 5}"),
      data("turned", "SELECT unnest([{'y': 5, 'x': 1}, {'y': 1, 'x': 5}]) AS p",
           "p: {__duckdb_field_id: 3, y: 5, x: 4}"),
      data("one", "SELECT unnest([{'x': 1}, {'x': 2}, {'x': 5}]) AS p",
           "p: {__duckdb_field_id: 3, x: 4}")};
  auto found = find({keys}, candidates);
  EXPECT_THAT(rows_of(found, "both"), ElementsAre(0));
  EXPECT_THAT(rows_of(found, "turned"), ElementsAre(1));
  EXPECT_THAT(rows_of(found, "one"), ElementsAre(2));
}

TEST_F(EqualitySearchMinioTest, many_files_are_searched) {
  std::vector<Candidate> candidates;
  for (int i = 0; i < 35; ++i) {
    auto number = std::to_string(i);
    candidates.push_back(
        data("d" + number, "SELECT " + number + " * 10 + i AS v FROM range(10) r(i)", "v: 1"));
  }
  auto keys = deletes("k", {1}, "SELECT i * 13 AS v FROM range(20) r(i)", "v: 1");
  auto found = find({keys}, candidates);
  ASSERT_TRUE(found) << found.error().message();
  std::size_t count = 0;
  for (const auto& [name, positions] : *found) count += positions.size();
  EXPECT_EQ(count, 20);
  EXPECT_THAT(rows_of(found, "d1"), ElementsAre(3));
  EXPECT_THAT(rows_of(found, "d2"), ElementsAre(6));
}

}  // namespace
}  // namespace lake::exporter
