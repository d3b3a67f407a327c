#include "lakeproxy/derive/readable/readable_copy.h"

#include <gtest/gtest.h>

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
    auto made = write_readable_copy(*engine_, from_, to_, columns, kNoDeadline);
    EXPECT_TRUE(made) << made.error().message() << made.error().detail();
    return made ? ask("SELECT CAST(" + select + " AS VARCHAR) FROM read_parquet('" + to_ + "')")
                : "";
  }
  std::string ask(const std::string& statement) {
    auto connection = *engine_->connect();
    auto rows = connection.execute(statement);
    EXPECT_TRUE(rows) << rows.error().detail();
    std::string all;
    while (rows && *rows->next()) {
      if (!all.empty()) all += '|';
      all += rows->is_null(0) ? "NULL" : std::string(rows->bytes(0));
    }
    return all;
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
  EXPECT_EQ(ask("SELECT name || ' ' || field_id || ' ' || duckdb_type FROM parquet_schema('" + to_ +
                "') WHERE field_id IS NOT NULL"),
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
  EXPECT_EQ(ask("SELECT string_agg(field_id, ' ') FROM parquet_schema('" + to_ + "')"),
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
  EXPECT_EQ(kind_of(write_readable_copy(*engine_, from_, to_,
                                        {{1, "varchar", Type(TypeKind::kInt), ""}}, kNoDeadline)),
            base::ErrorKind::kCorrupt);
  const std::string other = folder_.file("other");
  ASSERT_TRUE(write_file_at(other, 0, engine_.parquet("SELECT 1 AS a")));
  EXPECT_EQ(kind_of(write_readable_copy(*engine_, other, to_,
                                        {{1, "uint8", Type(TypeKind::kInt), ""}}, kNoDeadline)),
            base::ErrorKind::kUnsupported);
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
    EXPECT_EQ(ask(std::string("SELECT ") + interval_text("i") + " FROM (SELECT INTERVAL " +
                  c.value + " AS i)"),
              c.text);
  }
  EXPECT_EQ(ask("SELECT " + interval_text("i") + " FROM (SELECT NULL::INTERVAL AS i)"), "NULL");
}

}  // namespace
}  // namespace lake::exporter
