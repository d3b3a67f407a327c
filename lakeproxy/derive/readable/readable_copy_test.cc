#include "lakeproxy/derive/readable/readable_copy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "lakeproxy/engine/files/engine_fixture_test.h"

namespace lake::exporter {
namespace {

using model::CopiedColumn;
using model::Type;
using model::TypeKind;

class ReadableCopies : public ::testing::Test {
 protected:
  // Makes the copy of what COPY writes of `query`, and gives `select` of it.
  std::string copy(const std::string& query, const std::string& ids,
                   const std::vector<CopiedColumn>& columns, const std::string& select) {
    EXPECT_TRUE(write_file_at(from_, 0, engine_.parquet(query, ", FIELD_IDS " + ids)));
    auto made = write_readable_copy(*engine_, from_, to_, {&columns}, kNoDeadline);
    EXPECT_TRUE(made) << made.error().message() << made.error().detail();
    return made ? engine_.ask("SELECT CAST(" + select + " AS VARCHAR) FROM read_parquet('" + to_ +
                              "')")
                : "";
  }
  std::string geo_types() {
    return engine_.ask(
        "SELECT string_agg(concat_ws(' ', field_id, logical_type), ', ') FROM parquet_schema('" +
        to_ + "') WHERE starts_with(logical_type, 'Geo')");
  }

  SampleEngine engine_;
  ScratchFolder folder_ = *ScratchFolder::make(engine_.folder());
  std::string from_ = folder_.file("from");
  std::string to_ = folder_.file("to");
};

TEST_F(ReadableCopies, keep_rows_order_names_and_field_ids) {
  EXPECT_EQ(copy("SELECT 3 - n AS a, n::UINTEGER AS u FROM range(3) r(n)", "{a: 4, u: 5}",
                 {{5, "uint32", Type(TypeKind::kLong), ""}}, "[a, u]"),
            "[3, 0]|[2, 1]|[1, 2]");
  EXPECT_EQ(
      engine_.ask("SELECT name || ' ' || field_id || ' ' || duckdb_type FROM parquet_schema('" +
                  to_ + "') WHERE field_id IS NOT NULL"),
      "a 4 BIGINT|u 5 BIGINT");
}

TEST_F(ReadableCopies, convert_parts_of_nested_columns) {
  EXPECT_EQ(
      copy("SELECT {'l': [4294967295::UINTEGER, NULL], 'b b': MAP {'k': 1::UBIGINT}} AS s",
           "{s: {__duckdb_field_id: 1, l: {__duckdb_field_id: 2, element: 3}, 'b b': "
           "{__duckdb_field_id: 4, key: 5, value: 6}}}",
           {{3, "uint32", Type(TypeKind::kLong), ""}, {6, "uint64", Type::decimal(20, 0), ""}},
           "concat(typeof(s), ' ', s)"),
      "STRUCT(l BIGINT[], \"b b\" MAP(VARCHAR, DECIMAL(20,0))) {'l': [4294967295, NULL], 'b b': "
      "{k=1}}");
  EXPECT_EQ(engine_.ask("SELECT string_agg(field_id, ' ') FROM parquet_schema('" + to_ + "')"),
            "1 2 3 4 5 6");
}

TEST_F(ReadableCopies, hold_the_constants_that_the_file_lacks) {
  const CopiedColumn added{9, "int32", Type(TypeKind::kInt), "a", "7"};
  EXPECT_EQ(copy("SELECT 1 AS a", "{a: 4}", {added}, "[a, a_9]"), "[1, 7]");
  // One that is there counts as it is.
  EXPECT_EQ(copy("SELECT 1 AS a", "{a: 9}", {{9, "int32", Type(TypeKind::kInt), "a", "7"}}, "a"),
            "1");
}

TEST_F(ReadableCopies, of_values_out_of_range_or_without_ids_are_refused) {
  ASSERT_TRUE(write_file_at(from_, 0, engine_.parquet("SELECT 'x' AS a", ", FIELD_IDS {a: 1}")));
  const std::vector<CopiedColumn> number{{1, "varchar", Type(TypeKind::kInt), ""}};
  EXPECT_EQ(kind_of(write_readable_copy(*engine_, from_, to_, {&number}, kNoDeadline)),
            base::ErrorKind::kCorrupt);
  const std::string other = folder_.file("other");
  ASSERT_TRUE(write_file_at(other, 0, engine_.parquet("SELECT 1 AS a")));
  EXPECT_EQ(kind_of(write_readable_copy(*engine_, other, to_, {&number}, kNoDeadline)),
            base::ErrorKind::kUnsupported);
}

TEST_F(ReadableCopies, keep_variants_beside_what_is_converted) {
  EXPECT_EQ(copy("SELECT {'x': 1}::VARIANT AS v, 7::UINTEGER AS u", "{v: 3, u: 4}",
                 {{4, "uint32", Type(TypeKind::kLong), ""}}, "concat(typeof(v), ' ', v, ' ', u)"),
            "VARIANT {'x': 1} 7");
}

constexpr const char* kGeoIds = "{a: 1, g: 2}, GEOPARQUET_VERSION NONE";
const CopiedColumn kGeography{2, "geometry", Type::geo(TypeKind::kGeography, "srid:4326"), ""};

TEST_F(ReadableCopies, of_geographies_alone_have_the_files_own_pages) {
  EXPECT_EQ(copy("SELECT 1 AS a, 'POINT(1 2)'::GEOMETRY AS g", kGeoIds, {kGeography},
                 "concat_ws(' ', a, g)"),
            "1 POINT (1 2)");
  EXPECT_EQ(engine_.ask("SELECT string_agg(compression, ' ') FROM parquet_metadata('" + to_ + "')"),
            "SNAPPY SNAPPY");
  EXPECT_EQ(geo_types(), "2 GeographyType(crs=srid:4326, algorithm=<null>)");
}

TEST_F(ReadableCopies, say_geography_beside_what_is_converted) {
  EXPECT_EQ(copy("SELECT 1::UINTEGER AS a, 'POINT(1 2)'::GEOMETRY AS g, {'m': 'POINT(3 "
                 "4)'::GEOMETRY} AS s",
                 "{a: 1, g: 2, s: {__duckdb_field_id: 3, m: 4}}, GEOPARQUET_VERSION NONE",
                 {kGeography, {1, "uint32", Type(TypeKind::kLong), ""}}, "concat_ws(' ', a, g, s)"),
            "1 POINT (1 2) {'m': 'POINT (3 4)'}");
  EXPECT_EQ(geo_types(),
            "2 GeographyType(crs=srid:4326, algorithm=<null>), 4 GeometryType(crs=<null>)");
}

// Of files that were added as they are.
class AddedCopies : public ReadableCopies {
 protected:
  base::Result<std::int64_t> write(const std::string& query, const model::AddedColumns& added,
                                   const std::vector<CopiedColumn>& columns = {}) {
    // The engine remembers files by their names.
    const std::string from = folder_.file("from" + std::to_string(++written_));
    EXPECT_TRUE(write_file_at(from, 0, engine_.parquet(query)));
    return write_readable_copy(*engine_, from, to_, {&columns, &added}, kNoDeadline);
  }
  std::string schema() {
    return engine_.ask(
        "SELECT string_agg(concat_ws(' ', name, field_id, duckdb_type), ', ') FROM "
        "parquet_schema('" +
        to_ + "') WHERE field_id IS NOT NULL");
  }
  static model::Field field(model::FieldId id, const char* name, Type type) {
    return {.id = id, .name = name, .type = std::move(type)};
  }

 private:
  int written_ = 0;
};

TEST_F(AddedCopies, have_the_columns_that_the_lake_names_in_the_types_of_the_table) {
  const model::AddedColumns added{
      .fields = {field(1, "a", Type(TypeKind::kLong)), field(2, "b", Type(TypeKind::kTimestamp)),
                 field(3, "c", Type::decimal(9, 3)), field(4, "p", Type(TypeKind::kInt)),
                 field(5, "i", Type(TypeKind::kString))},
      .names = {.columns = {{1, {"A"}}, {2, {"b"}}, {3, {"c"}}, {4, {"p", true}}, {5, {"i"}}}}};
  ASSERT_TRUE(
      write("SELECT 9 AS more, 1.25::DECIMAL(9, 2) AS c, 4000000000::UINTEGER AS a, "
            "TIMESTAMP_NS '2026-01-01 00:00:00.123456789' AS b, 5 AS p, INTERVAL 1 DAY AS i",
            added));
  EXPECT_EQ(schema(), "c 3 DECIMAL(9,3), a 1 BIGINT, b 2 TIMESTAMP, i 5 VARCHAR");
  EXPECT_EQ(engine_.ask("SELECT concat_ws(' ', a, b, c, i) FROM read_parquet('" + to_ + "')"),
            "4000000000 2026-01-01 00:00:00.123456 1.250 P1D");
}

TEST_F(AddedCopies, take_the_tables_ids_in_the_place_of_the_files_own) {
  const model::AddedColumns added{
      .fields = {field(1, "a", Type(TypeKind::kInt)), field(2, "b", Type(TypeKind::kInt))},
      .names = {.columns = {{1, {"a"}}, {2, {"b"}}}}};
  ASSERT_TRUE(write_file_at(from_, 0,
                            engine_.parquet("SELECT 1 AS a, 2 AS b", ", FIELD_IDS {a: 2, b: 1}")));
  const std::vector<CopiedColumn> none;
  ASSERT_TRUE(write_readable_copy(*engine_, from_, to_, {&none, &added}, kNoDeadline));
  EXPECT_EQ(schema(), "a 1 INTEGER, b 2 INTEGER");
}

TEST_F(AddedCopies, name_parts_at_every_depth_and_drop_the_others) {
  const Type point = Type::structure({field(3, "x", Type(TypeKind::kLong))});
  const model::AddedColumns added{
      .fields = {field(1, "l", Type::list(2, point, false)),
                 field(4, "m",
                       Type::map(5, Type(TypeKind::kString), 6, Type(TypeKind::kLong), false))},
      .names = {
          .columns = {
              {1, {"l"}}, {2, {"list"}}, {3, {"x"}}, {4, {"m"}}, {5, {"key"}}, {6, {"value"}}}}};
  ASSERT_TRUE(
      write("SELECT [{'x': 1::UINTEGER, 'y': 2}, NULL] AS l, MAP {'k': 3::UINTEGER} AS m", added));
  EXPECT_EQ(engine_.ask("SELECT concat_ws(' ', typeof(l), l, typeof(m), m) FROM read_parquet('" +
                        to_ + "')"),
            "STRUCT(x BIGINT)[] [{'x': 1}, NULL] MAP(VARCHAR, BIGINT) {k=3}");
  EXPECT_EQ(engine_.ask("SELECT string_agg(field_id, ' ') FROM parquet_schema('" + to_ + "')"),
            "1 2 3 4 5 6");
}

TEST_F(AddedCopies, take_what_changed_since_in_the_type_of_now) {
  const model::AddedColumns added{.fields = {field(1, "a", Type(TypeKind::kInt))},
                                  .names = {.columns = {{1, {"a"}}}}};
  ASSERT_TRUE(write(
      "SELECT 7 AS a", added,
      {{1, "int32", Type(TypeKind::kString), ""}, {2, "int32", Type(TypeKind::kInt), "d", "5"}}));
  EXPECT_EQ(schema(), "a 1 VARCHAR, d 2 INTEGER");
  EXPECT_EQ(engine_.ask("SELECT concat_ws(' ', a, d) FROM read_parquet('" + to_ + "')"), "7 5");
}

TEST_F(AddedCopies, hold_geographies_and_geometries_whatever_the_file_calls_them) {
  const model::AddedColumns added{.fields = {field(1, "g", Type::geo(TypeKind::kGeography, "")),
                                             field(2, "m", Type::geo(TypeKind::kGeometry, ""))},
                                  .names = {.columns = {{1, {"g"}}, {2, {"m"}}}}};
  ASSERT_TRUE(
      write("SELECT 'POINT(1 2)'::GEOMETRY('OGC:CRS84') AS g, 'POINT(3 4)'::GEOMETRY AS m", added));
  EXPECT_EQ(geo_types(),
            "1 GeographyType(crs=<null>, algorithm=<null>), 2 GeometryType(crs=<null>)");
  EXPECT_EQ(engine_.ask("SELECT concat_ws(' ', g, m) FROM read_parquet('" + to_ + "')"),
            "POINT (1 2) POINT (3 4)");
}

TEST_F(AddedCopies, of_forms_that_nothing_says_the_meaning_of_are_refused) {
  struct Case {
    const char* query;
    Type type;
    const char* why;
  };
  const Case cases[] = {
      {"SELECT 1 AS a", Type::list(2, Type(TypeKind::kInt), false), "older than the usual one"},
      {"SELECT [1] AS a", Type(TypeKind::kInt), "is nested"},
      {"SELECT 1 AS a", Type::structure({field(2, "x", Type(TypeKind::kInt))}), "not a struct"},
      {"SELECT {'x': 1} AS a", Type(TypeKind::kVariant), "not a variant"},
      {"SELECT TIMESTAMPTZ '2026-01-01 00:00:00+00' AS a", Type(TypeKind::kTimestamp),
       "a time zone"},
      {"SELECT TIMESTAMP '2026-01-01' AS a", Type(TypeKind::kTimestamptz), "a time zone"}};
  for (const Case& c : cases) {
    auto made = write(c.query, {.fields = {field(1, "a", c.type)},
                                .names = {.columns = {{1, {"a"}}, {2, {"x"}}}}});
    EXPECT_EQ(kind_of(made), base::ErrorKind::kUnsupported) << c.query;
    if (!made) EXPECT_THAT(made.error().message(), ::testing::HasSubstr(c.why)) << c.query;
  }
}

TEST_F(ReadableCopies, have_intervals_in_iso_8601_each_part_apart) {
  struct Case {
    const char* value;
    const char* text;
  };
  for (const Case& c : {Case{"'1 year 2 months 3 days 04:05:06.000007'", "P1Y2M3DT4H5M6.000007S"},
                        Case{"'0 seconds'", "PT0S"}, Case{"'-14 months'", "P-1Y-2M"},
                        Case{"'-90 seconds'", "PT-1M-30S"}, Case{"'-0.5 seconds'", "PT-0.5S"},
                        Case{"'36 hours'", "PT36H"}, Case{"'40 days'", "P40D"}}) {
    EXPECT_EQ(engine_.ask(std::string("SELECT ") + interval_text("i") + " FROM (SELECT INTERVAL " +
                          c.value + " AS i)"),
              c.text);
  }
  EXPECT_EQ(engine_.ask("SELECT " + interval_text("i") + " FROM (SELECT NULL::INTERVAL AS i)"),
            "NULL");
}

}  // namespace
}  // namespace lake::exporter
