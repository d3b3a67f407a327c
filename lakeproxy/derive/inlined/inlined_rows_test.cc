#include "lakeproxy/derive/inlined/inlined_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/duckdb/sql_text.h"
#include "lakeproxy/engine/files/engine_fixture_test.h"
#include "lakeproxy/engine/files/scratch.h"
#include "lakeproxy/engine/parquet/foreign_parquet.h"

namespace lake::exporter {
namespace {

using base::ErrorKind;
using model::Field;
using model::Type;
using model::TypeKind;
using ::testing::ElementsAre;
using Row = std::vector<std::optional<std::string>>;

Field field(model::FieldId id, std::string name, Type type) {
  return {.id = id, .name = std::move(name), .type = std::move(type)};
}

materialize::InlinedGroup group_of(std::vector<Field> columns, std::vector<Row> rows) {
  materialize::InlinedGroup group{.columns = std::move(columns)};
  for (auto& values : rows) {
    group.rows.push_back(
        {.row_id = static_cast<std::int64_t>(group.rows.size()), .values = std::move(values)});
  }
  return group;
}

class InlinedRowsTest : public ::testing::Test {
 protected:
  InlinedFile write(const materialize::InlinedGroup& group) {
    auto file = write_inlined_rows(*engine, group, kNoDeadline);
    EXPECT_TRUE(file) << file.error().message() << ": " << file.error().detail();
    EXPECT_TRUE(engine.scratch_is_empty());
    return file ? std::move(*file) : InlinedFile{};
  }

  // Each row's values as the engine prints them, joined with '|'.
  std::vector<std::string> read(const std::string& bytes, const std::string& columns) {
    auto scratch = *ScratchFolder::make(engine.folder());
    EXPECT_TRUE(append_file(scratch.file("f"), bytes));
    auto connection = *engine->connect();
    auto rows = connection.execute("SELECT concat_ws('|', " + columns + ") FROM read_parquet(" +
                                   base::duckdb::quote_literal(scratch.file("f")) + ")");
    EXPECT_TRUE(rows) << rows.error().detail();
    std::vector<std::string> out;
    while (rows && *rows->next()) out.emplace_back(rows->bytes(0));
    return out;
  }

  ParquetNode tree(const std::string& bytes) {
    auto scratch = *ScratchFolder::make(engine.folder());
    EXPECT_TRUE(append_file(scratch.file("f"), bytes));
    auto connection = *engine->connect();
    return *read_parquet_tree(connection, scratch.file("f"));
  }

  SampleEngine engine;
};

TEST_F(InlinedRowsTest, writes_what_an_alter_changed_in_the_types_of_now) {
  auto pair = Type::structure({field(3, "k", Type(TypeKind::kInt))});
  auto group = group_of({field(1, "i", Type(TypeKind::kInt)), field(2, "p", pair)},
                        {{"1", "{'k': 10}"}, {std::nullopt, std::nullopt}});
  group.changed = {{1, "int32", Type(TypeKind::kString), ""},
                   {3, "int32", Type(TypeKind::kDouble), ""},
                   {4, "int32", Type(TypeKind::kDouble), "x", "7"}};
  InlinedFile file = write(group);
  EXPECT_THAT(read(file.bytes, "coalesce(i, '-'), coalesce(CAST(p AS VARCHAR), '-'), x"),
              ElementsAre("1|{'k': 10.0}|7.0", "-|-|7.0"));
  const ParquetNode root = tree(file.bytes);
  ASSERT_EQ(root.children.size(), 3);
  EXPECT_EQ(root.children[2].field_id, 4);
  EXPECT_EQ(root.children[1].children.at(0).field_id, 3);
  ASSERT_EQ(file.stats.size(), 2);
  EXPECT_EQ(file.stats[1].column_id, 4);
  EXPECT_EQ(file.stats[1].min_value, "7.0");
}

struct PrimitiveCase {
  const char* name;
  Type type;
  Row values;  // As PostgreSQL holds them.
  std::string physical;
  std::vector<std::string> printed;  // By the engine, reading the file.
  std::optional<std::string> min;
  std::optional<std::string> max;
  std::optional<std::int64_t> nans;
};

std::vector<PrimitiveCase> primitives() {
  std::string nul("a\0b", 3);
  return {
      {"boolean",
       Type(TypeKind::kBoolean),
       {"t", "f"},
       "BOOLEAN",
       {"true", "false"},
       "false",
       "true",
       {}},
      {"int",
       Type(TypeKind::kInt),
       {"-2147483648", "2147483647"},
       "INT32",
       {"-2147483648", "2147483647"},
       "-2147483648",
       "2147483647",
       {}},
      {"long",
       Type(TypeKind::kLong),
       {"-9223372036854775808", "9223372036854775807"},
       "INT64",
       {"-9223372036854775808", "9223372036854775807"},
       "-9223372036854775808",
       "9223372036854775807",
       {}},
      {"float",
       Type(TypeKind::kFloat),
       {"1.1", "NaN", "-Infinity", "3.4028235e+38"},
       "FLOAT",
       {"1.1", "nan", "-inf", "3.4028235e+38"},
       "-inf",
       "3.4028235e+38",
       1},
      {"double",
       Type(TypeKind::kDouble),
       {"NaN", "NaN", "-0", "1e-300"},
       "DOUBLE",
       {"nan", "nan", "-0.0", "1e-300"},
       "-0.0",
       "1e-300",
       2},
      {"only NaN", Type(TypeKind::kDouble), {"NaN"}, "DOUBLE", {"nan"}, {}, {}, 1},
      {"infinity",
       Type(TypeKind::kDouble),
       {"Infinity", "2"},
       "DOUBLE",
       {"inf", "2.0"},
       "2.0",
       "inf",
       0},
      {"decimal(4,2)",
       Type::decimal(4, 2),
       {"-0.05", "99.99"},
       "INT32",
       {"-0.05", "99.99"},
       "-0.05",
       "99.99",
       {}},
      {"decimal(18,2)",
       Type::decimal(18, 2),
       {"-1234567890123456.78"},
       "INT64",
       {"-1234567890123456.78"},
       "-1234567890123456.78",
       "-1234567890123456.78",
       {}},
      {"decimal(38,10)",
       Type::decimal(38, 10),
       {"-1234567890123456789012345678.0123456789", "0.0000000000"},
       "FIXED_LEN_BYTE_ARRAY",
       {"-1234567890123456789012345678.0123456789", "0.0000000000"},
       "-1234567890123456789012345678.0123456789",
       "0.0000000000",
       {}},
      {"date",
       Type(TypeKind::kDate),
       {"0044-03-15 (BC)", "99999-01-01"},
       "INT32",
       {"0044-03-15 (BC)", "99999-01-01"},
       "0044-03-15 (BC)",
       "99999-01-01",
       {}},
      {"time",
       Type(TypeKind::kTime),
       {"23:59:59.999999", "00:00:00"},
       "INT64",
       {"23:59:59.999999", "00:00:00"},
       "00:00:00",
       "23:59:59.999999",
       {}},
      {"timestamp",
       Type(TypeKind::kTimestamp),
       {"2020-02-02 01:02:03.4", "0044-03-15 (BC) 01:02:03"},
       "INT64",
       {"2020-02-02 01:02:03.4", "0044-03-15 (BC) 01:02:03"},
       "0044-03-15 (BC) 01:02:03",
       "2020-02-02 01:02:03.4",
       {}},
      {"timestamptz",
       Type(TypeKind::kTimestamptz),
       {"2020-01-01 01:02:03.5+00", "1960-01-01 00:00:00+00"},
       "INT64",
       {"2020-01-01 01:02:03.5+00", "1960-01-01 00:00:00+00"},
       "1960-01-01 00:00:00+00",
       "2020-01-01 01:02:03.5+00",
       {}},
      {"timestamp_ns",
       Type(TypeKind::kTimestampNs),
       {"2020-01-01 01:02:03.123456789"},
       "INT64",
       {"2020-01-01 01:02:03.123456789"},
       "2020-01-01 01:02:03.123456789",
       "2020-01-01 01:02:03.123456789",
       {}},
      {"string",
       Type(TypeKind::kString),
       {"", "it's \"x\"\\", "\xc3\xa4", nul, "NULL", "Z"},
       "BYTE_ARRAY",
       {"", "it's \"x\"\\", "\xc3\xa4", nul, "NULL", "Z"},
       "",
       "\xc3\xa4",
       {}},
      {"uuid",
       Type(TypeKind::kUuid),
       {"ffffffff-ffff-ffff-ffff-ffffffffffff", "00112233-4455-6677-8899-aabbccddeeff"},
       "FIXED_LEN_BYTE_ARRAY",
       {"ffffffff-ffff-ffff-ffff-ffffffffffff", "00112233-4455-6677-8899-aabbccddeeff"},
       "00112233-4455-6677-8899-aabbccddeeff",
       "ffffffff-ffff-ffff-ffff-ffffffffffff",
       {}},
      {"binary",
       Type(TypeKind::kBinary),
       {std::string("\xaa\0b", 3), "", "'"},
       "BYTE_ARRAY",
       {"\\xAA\\x00b", "", "\\x27"},
       "",
       "AA0062",
       {}},
      {"fixed",
       Type::fixed(2),
       {std::string("\0\1", 2)},
       "BYTE_ARRAY",
       {"\\x00\\x01"},
       "0001",
       "0001",
       {}},
  };
}

TEST_F(InlinedRowsTest, writes_every_primitive_with_its_statistics) {
  for (auto& c : primitives()) {
    std::vector<Row> rows;
    std::vector<std::string> printed;
    for (auto& value : c.values) rows.push_back({value});
    for (auto& text : c.printed) printed.push_back("v" + text);
    rows.push_back({std::nullopt});
    printed.emplace_back("null");
    InlinedFile file = write(group_of({field(7, "c", c.type)}, rows));
    EXPECT_EQ(file.record_count, static_cast<std::int64_t>(rows.size())) << c.name;
    EXPECT_EQ(read(file.bytes, "CASE WHEN c IS NULL THEN 'null' ELSE 'v' || c::VARCHAR END"),
              printed)
        << c.name;
    ParquetNode root = tree(file.bytes);
    ASSERT_EQ(root.children.size(), 1) << c.name;
    EXPECT_EQ(root.children[0].physical_type, c.physical) << c.name;
    EXPECT_EQ(root.children[0].field_id, 7) << c.name;
    ASSERT_EQ(file.stats.size(), 1) << c.name;
    const auto& stats = file.stats[0];
    EXPECT_EQ(stats.column_id, 7) << c.name;
    EXPECT_EQ(stats.value_count, static_cast<std::int64_t>(c.values.size())) << c.name;
    EXPECT_EQ(stats.null_count, 1) << c.name;
    EXPECT_EQ(stats.nan_count, c.nans) << c.name;
    EXPECT_EQ(stats.contains_nan, c.nans ? std::optional(*c.nans > 0) : std::nullopt) << c.name;
    EXPECT_EQ(stats.min_value, c.min) << c.name;
    EXPECT_EQ(stats.max_value, c.max) << c.name;
    EXPECT_GT(stats.column_size_bytes.value_or(0), 0) << c.name;
  }
}

TEST_F(InlinedRowsTest, gives_no_extremes_for_nulls_alone) {
  InlinedFile file = write(group_of({field(1, "d", Type(TypeKind::kDouble))}, {{std::nullopt}}));
  ASSERT_EQ(file.stats.size(), 1);
  EXPECT_EQ(file.stats[0].value_count, 0);
  EXPECT_EQ(file.stats[0].null_count, 1);
  EXPECT_EQ(file.stats[0].nan_count, 0);
  EXPECT_FALSE(file.stats[0].min_value);
  EXPECT_FALSE(file.stats[0].max_value);
}

// The files of DuckDB itself have these numbers as doubles, and times in UTC.
TEST_F(InlinedRowsTest, writes_wide_numbers_and_zoned_times_as_duckdb_does) {
  auto group = group_of(
      {field(1, "h", Type(TypeKind::kDouble)), field(2, "t", Type(TypeKind::kTime)),
       field(3, "st",
             Type::structure({field(4, "h", Type(TypeKind::kDouble)),
                              field(5, "ts", Type::list(6, Type(TypeKind::kTime), false))}))},
      {{"9007199254740993", "00:30:00+02", "{'h': -3, 'ts': [23:30:00-02]}"},
       {"-170141183460469231731687303715884105727", "23:30:00-02", std::nullopt}});
  group.lake_types = {{1, "int128"}, {2, "timetz"}, {4, "int128"}, {6, "timetz"}};
  InlinedFile file = write(group);
  EXPECT_THAT(read(file.bytes, "h, t, st"),
              ElementsAre("9007199254740992.0|22:30:00+00|{'h': -3.0, 'ts': ['01:30:00+00']}",
                          "-1.7014118346046923e+38|01:30:00+00"));
  ASSERT_EQ(file.stats.size(), 2);
  EXPECT_EQ(file.stats[0].min_value, "-1.7014118346046923e+38");
  EXPECT_EQ(file.stats[0].max_value, "9007199254740992.0");
  EXPECT_EQ(file.stats[0].nan_count, 0);
  // DuckDB orders them by a day that begins with the offset.
  EXPECT_EQ(file.stats[1].min_value, std::nullopt);
  EXPECT_EQ(file.stats[1].max_value, std::nullopt);
  EXPECT_EQ(file.stats[1].value_count, 2);
}

std::vector<Field> nested_columns() {
  Type inner = Type::structure(
      {field(11, "d", Type(TypeKind::kDate)), field(12, "s", Type(TypeKind::kString)),
       field(13, "f", Type(TypeKind::kDouble)), field(14, "b", Type(TypeKind::kBinary)),
       field(15, "u", Type(TypeKind::kUuid))});
  return {
      field(1, "id", Type(TypeKind::kLong)), field(2, "st", inner),
      field(3, "li", Type::list(16, Type(TypeKind::kInt), false)),
      field(4, "m",
            Type::map(17, Type(TypeKind::kString), 18,
                      Type::structure({field(19, "x", Type::list(20, Type(TypeKind::kInt), false)),
                                       field(21, "y", Type(TypeKind::kString))}),
                      false)),
      field(5, "last", Type(TypeKind::kInt))};
}

TEST_F(InlinedRowsTest, writes_nested_values_as_ducklake_stores_them) {
  InlinedFile file = write(group_of(
      nested_columns(),
      {{"1",
        "{'d': CAST('2020-01-01' AS VARCHAR), 's': 'it''s, \"q\" \\ {}[]', 'f': CAST('nan' AS "
        "DOUBLE "
        "PRECISION), 'b': CAST('\\xAA\\x00b\\x27' AS VARCHAR), 'u': "
        "CAST('00112233-4455-6677-8899-aabbccddeeff' AS UUID)}",
        "[1, NULL]", "{'k=1, x'={'x': [1, NULL, 2], 'y': NULL}, ''={'x': [], 'y': ''}}", "5"},
       {"2", "{'d': NULL, 's': NULL, 'f': NULL, 'b': NULL, 'u': NULL}", "[]", "{}", std::nullopt},
       {"3", std::nullopt, std::nullopt, std::nullopt, std::nullopt}}));
  EXPECT_THAT(
      read(file.bytes,
           "id, st.d, st.s, st.f, hex(st.b), st.u, coalesce(len(li)::VARCHAR, 'null'), "
           "coalesce(m::VARCHAR, 'null')"),
      ElementsAre("1|2020-01-01|it's, \"q\" \\ {}[]|nan|AA006227|00112233-4455-6677-8899-"
                  "aabbccddeeff|2|{'k=1, x'={'x': [1, NULL, 2], 'y': NULL}, ''={'x': [], 'y': ''}}",
                  "2|0|{}", "3|null|null"));
  ParquetNode root = tree(file.bytes);
  ASSERT_EQ(root.children.size(), 5);
  EXPECT_EQ(root.children[1].field_id, 2);
  EXPECT_EQ(root.children[1].children[4].field_id, 15);
  EXPECT_EQ(root.children[2].field_id, 3);
  EXPECT_EQ(root.children[2].children[0].children[0].field_id, 16);
  const auto& entry = root.children[3].children[0];
  EXPECT_EQ(root.children[3].field_id, 4);
  EXPECT_EQ(entry.children[0].field_id, 17);
  EXPECT_EQ(entry.children[1].field_id, 18);
  EXPECT_EQ(entry.children[1].children[0].field_id, 19);
  EXPECT_EQ(entry.children[1].children[0].children[0].children[0].field_id, 20);
  EXPECT_EQ(entry.children[1].children[1].field_id, 21);
  // Primitives alone have statistics, and their sizes are their own.
  ASSERT_EQ(file.stats.size(), 2);
  EXPECT_EQ(file.stats[0].column_id, 1);
  EXPECT_EQ(file.stats[1].column_id, 5);
  EXPECT_EQ(file.stats[1].max_value, "5");
}

TEST_F(InlinedRowsTest, reads_the_engines_own_form_of_a_struct) {
  auto columns = std::vector<Field>{field(1, "st",
                                          Type::structure({field(2, "a", Type(TypeKind::kString)),
                                                           field(3, "b", Type(TypeKind::kDate))}))};
  InlinedFile file = write(group_of(columns, {{"{'a': 'it\\'s', 'b': 2020-01-01}"}}));
  EXPECT_THAT(read(file.bytes, "st.a, st.b"), ElementsAre("it's|2020-01-01"));
}

TEST_F(InlinedRowsTest, keeps_the_order_and_is_the_same_each_time) {
  std::vector<Row> rows;
  for (int i = 0; i < 5000; ++i) rows.push_back({std::to_string(i * 7919 % 5000), "x"});
  auto group =
      group_of({field(1, "a", Type(TypeKind::kInt)), field(2, "b", Type(TypeKind::kString))}, rows);
  InlinedFile file = write(group);
  auto values = read(file.bytes, "a");
  ASSERT_EQ(values.size(), rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(values[i], rows[i][0]);
  EXPECT_EQ(write(group).bytes, file.bytes);
}

TEST_F(InlinedRowsTest, carries_hostile_column_names) {
  for (std::string name : {"", "\"", "'", "a\"; DROP TABLE typed; --", "a.b", "{", "\\", "SELECT",
                           "\xc3\xa4", "c0", "file_row_number"}) {
    if (name.empty()) continue;
    auto columns = std::vector<Field>{
        field(1, name, Type(TypeKind::kInt)),
        field(2, name + "s", Type::structure({field(3, name, Type(TypeKind::kInt))}))};
    std::string quoted;
    for (char c : name) quoted += c == '\'' ? std::string("''") : std::string(1, c);
    InlinedFile file = write(group_of(columns, {{"1", "{'" + quoted + "': 2}"}}));
    ParquetNode root = tree(file.bytes);
    EXPECT_EQ(root.children[0].name, name);
    EXPECT_EQ(root.children[1].children[0].name, name);
    EXPECT_EQ(root.children[1].children[0].field_id, 3);
    EXPECT_THAT(read(file.bytes, base::duckdb::quote_identifier(name) + " + " +
                                     base::duckdb::quote_identifier(name + "s") + "." +
                                     base::duckdb::quote_identifier(name)),
                ElementsAre("3"));
  }
}

TEST_F(InlinedRowsTest, names_its_errors) {
  auto kind = [&](Type type, std::optional<std::string> value, std::string name = "c") {
    auto result = kind_of(write_inlined_rows(
        *engine, group_of({field(1, std::move(name), std::move(type))}, {{std::move(value)}}),
        kNoDeadline));
    EXPECT_TRUE(engine.scratch_is_empty());
    return result;
  };
  EXPECT_EQ(kind(Type(TypeKind::kInt), "x"), ErrorKind::kCorrupt);
  EXPECT_EQ(kind(Type(TypeKind::kInt), "2147483648"), ErrorKind::kCorrupt);
  EXPECT_EQ(kind(Type(TypeKind::kDate), "2020-13-01"), ErrorKind::kCorrupt);
  EXPECT_EQ(kind(Type::decimal(4, 2), "100.00"), ErrorKind::kCorrupt);
  EXPECT_EQ(kind(Type(TypeKind::kString), "\xff"), ErrorKind::kCorrupt);
  EXPECT_EQ(kind(Type::list(2, Type(TypeKind::kInt), false), "[x]"), ErrorKind::kCorrupt);
  EXPECT_EQ(kind(Type(TypeKind::kUnknown), std::nullopt), ErrorKind::kUnsupported);
  EXPECT_EQ(kind(Type(TypeKind::kVariant), std::nullopt), ErrorKind::kUnsupported);
  EXPECT_EQ(kind(Type::structure({}), std::nullopt), ErrorKind::kUnsupported);
  EXPECT_EQ(kind(Type(TypeKind::kInt), "1", "__duckdb_field_id"), ErrorKind::kUnsupported);
  EXPECT_EQ(kind(Type(TypeKind::kInt), "1", std::string("a\0b", 3)), ErrorKind::kUnsupported);
  EXPECT_EQ(kind_of(write_inlined_rows(*engine, group_of({}, {}), kNoDeadline)),
            ErrorKind::kUnsupported);
  auto two = group_of({field(1, "a", Type(TypeKind::kInt)), field(2, "A", Type(TypeKind::kInt))},
                      {{"1", "2"}});
  EXPECT_EQ(kind_of(write_inlined_rows(*engine, two, kNoDeadline)), ErrorKind::kUnsupported);
  auto uneven = group_of({field(1, "a", Type(TypeKind::kInt))}, {{"1", "2"}});
  EXPECT_EQ(kind_of(write_inlined_rows(*engine, uneven, kNoDeadline)), ErrorKind::kCorrupt);
  auto good = group_of({field(1, "a", Type(TypeKind::kInt))}, {{"1"}});
  EXPECT_EQ(kind_of(write_inlined_rows(*engine, good, std::chrono::steady_clock::now())),
            ErrorKind::kTimeout);
  EXPECT_TRUE(engine.scratch_is_empty());
}

}  // namespace
}  // namespace lake::exporter
