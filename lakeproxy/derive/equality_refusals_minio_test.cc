#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lakeproxy/derive/equality_fixture_test.h"
#include "lakeproxy/iceberg/value/single_value.h"

namespace lake::exporter {
namespace {

using base::ErrorKind;
using model::DataFile;
using model::FileFormat;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using EqualityRefusalsMinioTest = EqualityFixture;

std::string long_bytes(std::int64_t value) {
  return materialize::encode_single_value(model::Literal(value));
}

// A candidate that is not read need not exist.
class EqualityPruningMinioTest : public EqualityFixture {
 protected:
  ErrorKind of(const std::string& keys, model::ColumnMetrics metrics) {
    DataFile gone{.file_path = at("lake/gone")};
    gone.file_size_in_bytes = 100;
    gone.metrics[1] = std::move(metrics);
    auto found = find({deletes("k", {1}, "SELECT unnest([" + keys + "])::BIGINT AS v", "v: 1")},
                      {{.file = std::move(gone), .deletes = {0}}});
    if (found) EXPECT_TRUE(found->empty());
    return found ? kPruned : found.error().kind();
  }
  static constexpr ErrorKind kPruned = ErrorKind::kNotFound;
  static constexpr ErrorKind kRead = ErrorKind::kCorrupt;
};

TEST_F(EqualityPruningMinioTest, files_are_read_only_where_statistics_allow_a_match) {
  model::ColumnMetrics from_10_to_20{.value_count = 5,
                                     .null_count = 0,
                                     .lower_bound = long_bytes(10),
                                     .upper_bound = long_bytes(20)};
  EXPECT_EQ(of("10", from_10_to_20), kRead);
  EXPECT_EQ(of("20", from_10_to_20), kRead);
  EXPECT_EQ(of("9", from_10_to_20), kPruned);
  EXPECT_EQ(of("21, 22", from_10_to_20), kPruned);
  // On either side, and none within.
  EXPECT_EQ(of("5, 25", from_10_to_20), kPruned);
  EXPECT_EQ(of("5, 15, 25", from_10_to_20), kRead);
  EXPECT_EQ(of("NULL", from_10_to_20), kPruned);
  from_10_to_20.null_count = 1;
  EXPECT_EQ(of("NULL", from_10_to_20), kRead);
  EXPECT_EQ(of("NULL, 5", from_10_to_20), kRead);
  EXPECT_EQ(of("5", from_10_to_20), kPruned);
  from_10_to_20.null_count.reset();
  EXPECT_EQ(of("NULL", from_10_to_20), kRead);
}

TEST_F(EqualityPruningMinioTest, unknown_statistics_prune_nothing) {
  EXPECT_EQ(of("1", {}), kRead);
  EXPECT_EQ(of("NULL", {}), kRead);
  EXPECT_EQ(of("1", {.lower_bound = long_bytes(2)}), kPruned);
  EXPECT_EQ(of("3", {.lower_bound = long_bytes(2)}), kRead);
  EXPECT_EQ(of("1", {.lower_bound = "xyz"}), kRead);
  EXPECT_EQ(of("1", {.value_count = 3, .null_count = 3}), kPruned);
  EXPECT_EQ(of("NULL", {.value_count = 3, .null_count = 3}), kRead);
  // A bound of four bytes, from when the column was an int.
  EXPECT_EQ(of("1", {.lower_bound = long_bytes(2).substr(0, 4)}), kPruned);
}

TEST_F(EqualityPruningMinioTest, bounds_of_text_prune_where_sql_can_name_them) {
  auto of = [&](const std::string& lower) {
    DataFile gone{.file_path = at("lake/gone")};
    gone.file_size_in_bytes = 100;
    gone.metrics[2] = {.null_count = 0, .lower_bound = lower};
    auto found = find({deletes("k", {2}, "SELECT 'b' AS v", "v: 2")},
                      {{.file = std::move(gone), .deletes = {0}}});
    return found ? kPruned : found.error().kind();
  };
  EXPECT_EQ(of("a"), kRead);
  EXPECT_EQ(of("it's"), kPruned);
  EXPECT_EQ(of(std::string("b\0b", 3)), kRead);
}

TEST_F(EqualityPruningMinioTest, no_keys_match_nothing) {
  DataFile gone{.file_path = at("lake/gone")};
  auto keys = deletes("k", {1}, "SELECT 1 AS v WHERE false", "v: 1");
  EXPECT_TRUE(find({keys}, {{.file = gone, .deletes = {0}}})->empty());
  EXPECT_TRUE(find({}, {})->empty());
}

TEST_F(EqualityRefusalsMinioTest, delete_columns_follow_the_rules) {
  auto of = [&](std::vector<model::FieldId> ids) {
    auto keys = deletes("k", std::move(ids), "SELECT 1::BIGINT AS v, 2::DOUBLE AS w", "v: 1, w: 6");
    auto found = find({keys}, {data("d", "SELECT 1 AS v", "v: 1")});
    if (!found) EXPECT_THAT(found.error().message(), HasSubstr(at("lake/k")));
    return found ? ErrorKind::kNotFound : found.error().kind();
  };
  EXPECT_EQ(of({1}), ErrorKind::kNotFound);
  EXPECT_EQ(of({}), ErrorKind::kInvalid);
  EXPECT_EQ(of({99}), ErrorKind::kInvalid);
  EXPECT_EQ(of({3}), ErrorKind::kInvalid);     // A struct.
  EXPECT_EQ(of({6}), ErrorKind::kInvalid);     // Of floating point.
  EXPECT_EQ(of({8}), ErrorKind::kInvalid);     // In a list.
  EXPECT_EQ(of({1, 2}), ErrorKind::kInvalid);  // Not in the file.
  add(20, "any", model::Type(model::TypeKind::kVariant));
  EXPECT_EQ(of({20}), ErrorKind::kUnsupported);
}

TEST_F(EqualityRefusalsMinioTest, entries_that_do_not_fit_are_refused) {
  auto keys = deletes("k", {1}, "SELECT 1 AS v", "v: 1");
  auto rows = data("d", "SELECT 1 AS v", "v: 1");
  EXPECT_THAT(rows_of(find({keys}, {rows}), "d"), ElementsAre(0));
  struct Case {
    const char* name;
    ErrorKind of_deletes;
    ErrorKind of_data;
    void (*change)(DataFile&);
  };
  for (const Case& c : {
           Case{"missing", ErrorKind::kInvalid, ErrorKind::kCorrupt,
                [](DataFile& f) { f.file_path += "x"; }},
           Case{"shorter than said", ErrorKind::kInvalid, ErrorKind::kCorrupt,
                [](DataFile& f) { f.file_size_in_bytes += 1; }},
           Case{"longer than said", ErrorKind::kInvalid, ErrorKind::kCorrupt,
                [](DataFile& f) { f.file_size_in_bytes -= 1; }},
           Case{"of no size", ErrorKind::kInvalid, ErrorKind::kCorrupt,
                [](DataFile& f) { f.file_size_in_bytes = 0; }},
           Case{"elsewhere", ErrorKind::kInvalid, ErrorKind::kInvalid,
                [](DataFile& f) { f.file_path = "s3://elsewhere/lake/d"; }},
           Case{"Avro", ErrorKind::kUnsupported, ErrorKind::kUnsupported,
                [](DataFile& f) { f.file_format = FileFormat::kAvro; }},
           Case{"encrypted", ErrorKind::kUnsupported, ErrorKind::kUnsupported,
                [](DataFile& f) { f.key_metadata = "k"; }},
       }) {
    auto bad_keys = keys;
    c.change(bad_keys);
    EXPECT_EQ(kind_of(find({bad_keys}, {rows})), c.of_deletes) << c.name;
    auto bad_rows = rows;
    c.change(bad_rows.file);
    EXPECT_EQ(kind_of(find({keys}, {bad_rows})), c.of_data) << c.name;
  }
  keys.content = model::FileContent::kPositionDeletes;
  EXPECT_EQ(kind_of(find({keys}, {rows})), ErrorKind::kInvalid);
  // Also where it applies to nothing.
  EXPECT_EQ(kind_of(find({keys}, {})), ErrorKind::kInvalid);
}

TEST_F(EqualityRefusalsMinioTest, a_type_that_cannot_become_the_columns_is_refused) {
  auto keys = deletes("k", {1}, "SELECT 1 AS v", "v: 1");
  for (const std::string& value : {"'1'", "1::DOUBLE", "1::UBIGINT", "[1]", "{'a': 1}", "true"}) {
    auto found = find({keys}, {data("d", "SELECT " + value + " AS v", "v: 1")});
    ASSERT_FALSE(found) << value;
    EXPECT_THAT(found.error().message(), HasSubstr(at("lake/d"))) << value;
    EXPECT_EQ(kind_of(find({deletes("k2", {1}, "SELECT " + value + " AS v", "v: 1")},
                           {data("d", "SELECT 1 AS v", "v: 1")})),
              value.starts_with('[') || value.starts_with('{') ? ErrorKind::kUnsupported
                                                               : ErrorKind::kInvalid)
        << value;
  }
}

// In the engine "V" and "v" are one name; the other column must not answer.
TEST_F(EqualityRefusalsMinioTest, names_that_differ_in_case_alone_are_refused) {
  auto keys = deletes("k", {1}, "SELECT 1 AS v", "v: 1");
  std::string bytes = engine.parquet("SELECT 1 AS v, 2 AS w", ", FIELD_IDS {v: 1, w: 2}");
  std::string both = bytes;
  for (auto at = both.find('w'); at != std::string::npos; at = both.find('w', at)) both[at] = 'V';
  Candidate rows{.file = file("d", both), .deletes = {0}};
  EXPECT_EQ(kind_of(find({keys}, {rows})), ErrorKind::kUnsupported);
  rows.file = file("e", bytes);
  EXPECT_THAT(rows_of(find({keys}, {rows}), "e"), ElementsAre(0));
}

TEST_F(EqualityRefusalsMinioTest, the_file_of_many_whose_footer_is_broken_is_named) {
  auto keys = deletes("k", {1}, "SELECT i AS v FROM range(9) r(i)", "v: 1");
  std::string query = "SELECT i AS v FROM range(10) r(i)";
  std::string broken = engine.parquet(query, ", FIELD_IDS {v: 1}");
  for (std::size_t i = broken.size() - 40; i < broken.size() - 8; ++i) broken[i] = '\xff';
  auto found = find({keys}, {data("a", query, "v: 1"),
                             {.file = file("b", broken), .deletes = {0}},
                             data("c", query, "v: 1")});
  ASSERT_EQ(kind_of(found), ErrorKind::kCorrupt);
  EXPECT_THAT(found.error().message(), HasSubstr(at("lake/b")));
}

TEST_F(EqualityRefusalsMinioTest, the_broken_file_of_many_is_named) {
  auto keys = deletes("k", {1}, "SELECT i AS v FROM range(9) r(i)", "v: 1");
  std::string query = "SELECT (hash(i) >> 8)::BIGINT AS v FROM range(40000) r(i)";
  std::string broken = engine.parquet(query, ", FIELD_IDS {v: 1}, COMPRESSION uncompressed");
  for (std::size_t i = 4; i < 60; ++i) broken[i] = '\xff';
  std::vector<Candidate> candidates{data("a", query, "v: 1"),
                                    {.file = file("b", broken), .deletes = {0}},
                                    data("c", query, "v: 1")};
  auto found = find({keys}, candidates);
  ASSERT_EQ(kind_of(found), ErrorKind::kCorrupt);
  EXPECT_THAT(found.error().message(), HasSubstr(at("lake/b")));
  candidates.erase(candidates.begin() + 1);
  EXPECT_TRUE(find({keys}, candidates));
}

}  // namespace
}  // namespace lake::exporter
