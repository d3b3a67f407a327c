#include "lakeproxy/to_iceberg/snapshot/data_file_view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <limits>

#include "lakeproxy/iceberg/value/single_value.h"
#include "lakeproxy/to_iceberg/snapshot/sample_lake.h"

namespace lake::materialize {
namespace {

using model::Literal;
using model::TransformKind;
using model::Type;
using model::TypeKind;
using Text = std::optional<std::string>;

constexpr std::nullopt_t kNone = std::nullopt;

struct Partition {
  const char* name;
  Type type;
  model::Transform transform;
  Text low;
  Text high;
  std::optional<std::int64_t> nulls;
  std::optional<std::int64_t> nans;
  std::vector<Text> held;  ///< The lake's partition values.
  /// Nothing: the unpartitioned spec.
  std::optional<std::optional<Literal>> shown;
};

model::LakeDataFile file_of(const Partition& c) {
  model::LakeDataFile file = lake_file(1, 1);
  file.partition_id = kPartition;
  file.partition_values = c.held;
  file.stats = {{.column_id = 1,
                 .null_count = c.nulls,
                 .min_value = c.low,
                 .max_value = c.high,
                 .contains_nan = false,
                 .nan_count = c.nans}};
  return file;
}

Literal text(const char* value) { return std::string(value); }

std::optional<Literal> num(std::int32_t value) { return value; }

std::vector<Partition> by_identity() {
  const Type integer{TypeKind::kInt}, string{TypeKind::kString}, date{TypeKind::kDate},
      number{TypeKind::kDouble};
  const model::Transform same{}, month{TransformKind::kMonth};
  const std::optional<Literal> null;
  return {
      {"identity", integer, same, "4", "4", 0, kNone, {"4"}, num(4)},
      {"identity_of_two", integer, same, "4", "5", 0, kNone, {"4"}, kNone},
      {"identity_text", string, same, "ab", "ab", 0, kNone, {"ab"}, text("ab")},
      {"all_null", integer, same, kNone, kNone, 10, kNone, {kNone}, null},
      {"all_null_calendar", date, month, kNone, kNone, 10, kNone, {kNone}, null},
      {"some_null", integer, same, "4", "4", 1, kNone, {"4"}, kNone},
      {"nulls_unknown", integer, same, "4", "4", kNone, kNone, {"4"}, kNone},
      {"no_minimum", integer, same, kNone, "4", 0, kNone, {"4"}, kNone},
      {"no_maximum", integer, same, "4", kNone, 0, kNone, {"4"}, kNone},
      {"not_a_value", date, same, "infinity", "infinity", 0, kNone, {"x"}, kNone},
      {"number", number, same, "1.5", "1.5", 0, 0, {"1.5"}, Literal(1.5)},
      {"number_and_nan", number, same, "1.5", "1.5", 0, 1, {"1.5"}, kNone},
      {"nan_unknown", number, same, "1.5", "1.5", 0, kNone, {"1.5"}, kNone},
      {"whole_number", number, same, "15", "15", 0, 0, {"15"}, Literal(15.0)},
      {"rounded_number",
       number,
       same,
       "9007199254740993",
       "9007199254740993",
       0,
       0,
       {"9007199254740993"},
       kNone},
      {"zeros_of_either_sign", number, same, "0.0", "0.0", 0, 0, {"0.0"}, kNone},
  };
}

std::vector<Partition> by_calendar() {
  const Type date{TypeKind::kDate}, time{TypeKind::kTimestamp};
  const model::Transform day{TransformKind::kDay}, hour{TransformKind::kHour},
      month{TransformKind::kMonth}, year{TransformKind::kYear};
  return {
      {"one_day",
       time,
       day,
       "2024-01-02 00:00:00",
       "2024-01-02 23:59:59.999999",
       0,
       kNone,
       {"2"},
       num(19724)},
      {"two_days",
       time,
       day,
       "2024-01-02 23:59:59.999999",
       "2024-01-03 00:00:00",
       0,
       kNone,
       {"2"},
       kNone},
      {"same_day_of_two_months",
       time,
       day,
       "2024-01-02 00:00:00",
       "2024-02-02 00:00:00",
       0,
       kNone,
       {"2"},
       kNone},
      {"one_hour",
       time,
       hour,
       "1970-01-02 01:00:00",
       "1970-01-02 01:59:59",
       0,
       kNone,
       {"1"},
       num(25)},
      {"same_hour_of_two_days",
       time,
       hour,
       "1970-01-02 01:00:00",
       "1970-01-03 01:00:00",
       0,
       kNone,
       {"1"},
       kNone},
      {"one_month", date, month, "1969-12-01", "1969-12-31", 0, kNone, {"12"}, num(-1)},
      {"same_month_of_two_years", date, month, "2023-05-01", "2024-05-01", 0, kNone, {"5"}, kNone},
      {"one_year", date, year, "2023-01-01", "2023-12-31", 0, kNone, {"2023"}, num(53)},
      {"two_years", date, year, "2022-12-31", "2023-01-01", 0, kNone, {"2023"}, kNone},
  };
}

std::vector<Partition> by_number() {
  const Type integer{TypeKind::kInt}, string{TypeKind::kString};
  const model::Transform bucket{TransformKind::kBucket, 8}, cut{TransformKind::kTruncate, 10};
  const std::optional<Literal> null;
  return {
      {"bucket_by_the_lake", string, bucket, "a", "z", 0, kNone, {"3"}, num(3)},
      {"bucket_not_a_number", string, bucket, "a", "a", 0, kNone, {"x"}, kNone},
      {"bucket_of_null", string, bucket, kNone, kNone, 10, kNone, {kNone}, null},
      {"bucket_of_null_with_values", string, bucket, "a", "a", 9, kNone, {kNone}, kNone},
      {"bucket_missing", string, bucket, "a", "a", 0, kNone, {}, kNone},
      {"one_cut", integer, cut, "-20", "-11", 0, kNone, {}, num(-20)},
      {"two_cuts", integer, cut, "-11", "-10", 0, kNone, {}, kNone},
      {"cut_off_the_range", integer, cut, "-2147483648", "-2147483648", 0, kNone, {}, kNone},
  };
}

std::vector<Partition> partitions() {
  std::vector<Partition> all;
  for (auto part : {by_identity(), by_calendar(), by_number()}) {
    std::ranges::move(part, std::back_inserter(all));
  }
  return all;
}

TEST(DataFileView, shows_a_partition_value_only_if_all_rows_have_it) {
  for (const Partition& c : partitions()) {
    SCOPED_TRACE(c.name);
    auto view = view_data_file(sample_lake(c.type, c.transform), file_of(c));
    ASSERT_TRUE(view) << view.error().message();
    EXPECT_EQ(view->spec_id, c.shown ? 1 : 0);
    ASSERT_EQ(view->file.partition.size(), c.shown ? 1U : 0U);
    if (c.shown) EXPECT_TRUE(view->file.partition[0] == *c.shown);
  }
}

// Of the same text: a year of the calendar, and years since 1970.
TEST(DataFileView, numbers_since_1970_are_taken_from_the_lake_and_calendar_parts_never) {
  const Type date{TypeKind::kDate}, time{TypeKind::kTimestamp};
  const model::Transform year{TransformKind::kYear}, hour{TransformKind::kHour};
  const std::vector<Partition> cases = {
      {"year", date, year, "2024-01-01", "2024-12-31", 0, kNone, {"54"}, num(54)},
      {"before", time, hour, kNone, kNone, kNone, kNone, {"-1"}, num(-1)},
      {"no_statistics", date, year, kNone, kNone, kNone, kNone, {"0"}, num(0)},
      {"loose_bounds", date, year, "1900-01-01", "2100-01-01", 0, kNone, {"54"}, num(54)},
      {"all_null", date, year, kNone, kNone, 10, kNone, {kNone}, std::optional<Literal>()},
      {"null_and_no_statistics", date, year, kNone, kNone, kNone, kNone, {kNone}, kNone},
      {"no_number", date, year, kNone, kNone, kNone, kNone, {"x"}, kNone},
      {"too_large", date, year, kNone, kNone, kNone, kNone, {"2147483648"}, kNone},
      {"none_held", date, year, "2024-01-01", "2024-12-31", 0, kNone, {}, kNone},
  };
  for (const Partition& c : cases) {
    model::LakeTable table = sample_lake(c.type, c.transform);
    table.keys_of_partition[kPartition].ordinals = {0};
    auto view = view_data_file(table, file_of(c));
    ASSERT_TRUE(view) << c.name;
    EXPECT_EQ(view->spec_id, c.shown ? 1 : 0) << c.name;
    if (c.shown) EXPECT_EQ(view->file.partition, model::PartitionTuple{*c.shown}) << c.name;
  }
  // The trap of a migrated table: 2024 would be the year 3994.
  const Partition calendar{"calendar", date, year, kNone, kNone, kNone, kNone, {"2024"}, kNone};
  auto view = view_data_file(sample_lake(date, year), file_of(calendar));
  ASSERT_TRUE(view);
  EXPECT_EQ(view->spec_id, 0);
}

TEST(DataFileView, stands_unpartitioned_without_a_known_partition) {
  const Partition c = partitions()[0];
  const auto spec_of = [&](auto change) {
    auto table = sample_lake(c.type, c.transform);
    auto file = file_of(c);
    change(table, file);
    auto view = view_data_file(table, file);
    EXPECT_TRUE(view);
    return view ? view->spec_id : -1;
  };
  EXPECT_EQ(spec_of([](auto&, auto& file) { file.partition_id.reset(); }), 0);
  EXPECT_EQ(spec_of([](auto&, auto& file) { file.partition_id = 8; }), 0);
  EXPECT_EQ(spec_of([](auto&, auto& file) { file.stats.clear(); }), 0);
  EXPECT_EQ(spec_of([](auto& table, auto&) { table.spec_of_partition[kPartition] = 9; }), 0);
  EXPECT_EQ(spec_of([](auto& table, auto&) { table.metadata.schemas[0].fields.clear(); }), 0);
}

// Of files for which the lake has no partition, though a client made one the default.
TEST(DataFileView, a_file_of_one_value_stands_under_the_default_spec_of_when_it_came) {
  const Type string{TypeKind::kString}, integer{TypeKind::kInt};
  const model::Transform two{TransformKind::kTruncate, 2}, tens{TransformKind::kTruncate, 10};
  const model::Transform bucket{TransformKind::kBucket, 8};
  const std::vector<Partition> cases = {
      {"one", string, two, "ab0", "ab9", 0, kNone, {}, text("ab")},
      {"shorter_than_the_width", string, two, "a", "a", 0, kNone, {}, text("a")},
      {"code_points",
       string,
       two,
       "\u00e9\u00e90",
       "\u00e9\u00e99",
       0,
       kNone,
       {},
       text("\u00e9\u00e9")},
      {"several", string, two, "ab", "ac", 0, kNone, {}, kNone},
      {"short_and_long", string, two, "a", "ab", 0, kNone, {}, kNone},
      {"some_null", string, two, "ab0", "ab9", 1, kNone, {}, kNone},
      {"all_null", string, two, kNone, kNone, 10, kNone, {}, std::optional<Literal>()},
      {"no_statistics", string, two, kNone, kNone, kNone, kNone, {}, kNone},
      {"below_zero", integer, tens, "-10", "-1", 0, kNone, {}, num(-10)},
      {"over_zero", integer, tens, "-1", "1", 0, kNone, {}, kNone},
      {"out_of_range", integer, tens, "-2147483648", "-2147483648", 0, kNone, {}, kNone},
      {"bucket", integer, bucket, "1", "1", 0, kNone, {}, kNone},
  };
  for (const Partition& c : cases) {
    model::LakeTable table = sample_lake(c.type, c.transform);
    auto file = file_of(c);
    file.partition_id.reset();
    file.begin = model::SnapshotId(5);
    const auto spec_from = [&](std::int64_t from) {
      table.default_spec_at = {{model::SnapshotId(from), 1}};
      auto view = view_data_file(table, file);
      EXPECT_TRUE(view) << c.name;
      return view ? *view : FileView{};
    };
    const FileView view = spec_from(4);
    EXPECT_EQ(view.spec_id, c.shown ? 1 : 0) << c.name;
    if (c.shown) EXPECT_EQ(view.file.partition, model::PartitionTuple{*c.shown}) << c.name;
    EXPECT_EQ(spec_from(5).spec_id, 0) << c.name;
    // One that came later changes nothing of it.
    table.default_spec_at = {{model::SnapshotId(4), 0}, {model::SnapshotId(6), 1}};
    EXPECT_EQ(view_data_file(table, file)->spec_id, 0) << c.name;
  }
}

// 5 to 50 as texts are "5" to "50", and 6 is no text between them.
TEST(DataFileView, a_cut_text_of_numbers_that_became_texts_is_not_told_by_their_bounds) {
  model::LakeTable table =
      sample_lake(Type(TypeKind::kString), model::Transform{TransformKind::kTruncate, 1});
  table.metadata.schemas.push_back(
      {.schema_id = 1, .fields = {{.id = 1, .name = "v", .type = Type(TypeKind::kInt)}}});
  table.schema_at = {{model::SnapshotId(1), 1}, {model::SnapshotId(7), 0}};
  table.default_spec_at = {{model::SnapshotId(1), 1}};
  auto file = lake_file(1, 5);
  file.stats = {{.column_id = 1, .null_count = 0, .min_value = "5", .max_value = "50"}};
  file.copy = model::ReadableCopy{.columns = {{1, "int32", Type(TypeKind::kString), ""}},
                                  .shown_at = model::SnapshotId(8)};
  auto view = view_data_file(table, file);
  ASSERT_TRUE(view);
  EXPECT_EQ(view->spec_id, 0);
}

TEST(DataFileView, asks_for_a_spec_without_fields_only_where_a_file_needs_it) {
  const Partition c = partitions()[0];
  auto table = sample_lake(c.type, c.transform);
  table.unpartitioned_spec_id.reset();
  auto file = file_of(c);
  auto view = view_data_file(table, file);
  ASSERT_TRUE(view) << view.error().message();
  EXPECT_EQ(view->spec_id, 1);
  file.partition_id.reset();
  view = view_data_file(table, file);
  ASSERT_FALSE(view);
  EXPECT_EQ(view.error().reason(), kNoUnpartitionedSpec);
}

TEST(DataFileView, a_value_of_the_path_is_one_of_the_spec_of_its_mapping) {
  const auto view_of = [](std::map<std::int64_t, std::int32_t> spec_of_mapping, const char* max) {
    auto table = sample_lake();
    table.name_maps = {{4, {{{1, {"v", true}}}}}};
    table.spec_of_mapping = std::move(spec_of_mapping);
    auto file = lake_file(1, 1);
    file.mapping_id = 4;
    file.stats = {{.column_id = 1, .null_count = 0, .min_value = "5", .max_value = max}};
    return view_data_file(table, file);
  };
  auto view = view_of({{4, 1}}, "5");
  ASSERT_TRUE(view) << view.error().message();
  EXPECT_EQ(view->spec_id, 1);
  EXPECT_TRUE(view->file.partition.at(0) == Literal(std::int64_t{5}));
  for (const auto& refused : {view_of({}, "5"), view_of({{4, 1}}, "6"), view_of({{4, 9}}, "5")}) {
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind(), base::ErrorKind::kUnsupported);
    EXPECT_NE(refused.error().message().find("column 'v'"), std::string::npos);
  }
}

TEST(DataFileView, repeats_what_an_iceberg_client_said) {
  auto file = lake_file(1, 1);
  file.partition_id = kPartition;
  file.iceberg = {.spec_id = 1,
                  .partition = {Literal(std::int64_t{5})},
                  .split_offsets = {4},
                  .sort_order_id = 2,
                  .key_metadata = "k"};
  auto view = view_data_file(sample_lake(), file);
  ASSERT_TRUE(view);
  EXPECT_EQ(view->spec_id, 1);
  EXPECT_TRUE(view->file.partition[0] == Literal(std::int64_t{5}));
  EXPECT_EQ(view->file.split_offsets, std::vector<std::int64_t>{4});
  EXPECT_EQ(view->file.sort_order_id, 2);
  EXPECT_EQ(view->file.key_metadata, "k");
}

TEST(DataFileView, a_value_of_the_path_must_be_a_partition_value) {
  auto table = sample_lake();
  auto file = lake_file(1, 1);
  file.mapping_id = 7;
  table.name_maps[7].columns[1] = {"v"};
  EXPECT_TRUE(view_data_file(table, file));
  table.name_maps[7].columns[1].in_path = true;
  auto flat = view_data_file(table, file);
  ASSERT_FALSE(flat);
  EXPECT_EQ(flat.error().kind(), base::ErrorKind::kUnsupported);
  EXPECT_NE(flat.error().message().find("'v'"), std::string::npos);
  file.iceberg =
      model::IcebergFileFacts{.spec_id = 5, .partition = {model::Literal(std::int32_t{4})}};
  table.metadata.partition_specs.push_back(
      {.spec_id = 5, .fields = {{.source_id = 1, .field_id = 1000, .name = "v", .transform = {}}}});
  EXPECT_TRUE(view_data_file(table, file));
}

TEST(DataFileView, a_value_of_the_path_that_the_copy_holds_is_none_of_a_partition) {
  auto table = sample_lake();
  table.unpartitioned_spec_id = 9;
  table.name_maps = {{4, {{{1, {"v", true}}}}}};
  table.spec_of_mapping = {{4, 1}};
  auto file = lake_file(1, 1);
  file.mapping_id = 4;
  file.stats = {{.column_id = 1, .null_count = 0, .min_value = "5", .max_value = "5"}};
  auto added = std::make_shared<model::AddedColumns>();
  added->names = table.name_maps.at(4);
  file.copy = model::ReadableCopy{.added = added};
  // A copy for another reason leaves the path to the partition.
  auto other = view_data_file(table, file);
  ASSERT_TRUE(other) << other.error().message();
  EXPECT_EQ(other->spec_id, 1);

  file.copy->columns = {{.id = 1, .from = "int32", .to = Type(TypeKind::kLong), .constant = "5"}};
  auto held = view_data_file(table, file);
  ASSERT_TRUE(held) << held.error().message();
  EXPECT_EQ(held->spec_id, 9);
  EXPECT_TRUE(held->file.partition.empty());
  // Nor is what a client said of it.
  file.iceberg = model::IcebergFileFacts{.spec_id = 1, .partition = {Literal(std::int64_t{5})}};
  auto of_client = view_data_file(table, file);
  ASSERT_TRUE(of_client) << of_client.error().message();
  EXPECT_EQ(of_client->spec_id, 1) << "told by the file's bounds, which a copy of the path has not";
  file.stats[0].min_value.reset();
  file.stats[0].max_value.reset();
  EXPECT_EQ(view_data_file(table, file)->spec_id, 9);
}

TEST(DataFileView, reads_statistics_by_the_type_at_the_files_begin) {
  auto table = sample_lake(Type(TypeKind::kFloat));
  table.metadata.schemas.push_back(
      {.schema_id = 1, .fields = {{.id = 1, .name = "v", .type = Type(TypeKind::kDouble)}}});
  table.schema_at[model::SnapshotId(5)] = 1;
  for (const auto& [begin, bytes] : {std::pair{4, encode_single_value(Literal(0.1F))},
                                     std::pair{5, encode_single_value(Literal(0.1))}}) {
    auto file = lake_file(1, begin);
    file.stats = {{.column_id = 1, .min_value = "0.1", .max_value = "0.1"}};
    auto view = view_data_file(table, file);
    ASSERT_TRUE(view);
    EXPECT_EQ(view->file.metrics[1].upper_bound, bytes);
  }
}

TEST(DataFileView, leaves_out_statistics_of_columns_that_are_not_primitive_or_not_there) {
  auto table = sample_lake(Type::list(2, Type(TypeKind::kInt), false));
  auto file = lake_file(1, 1);
  for (int column : {1, 2, 3}) file.stats.push_back({.column_id = column, .null_count = 0});
  auto view = view_data_file(table, file);
  ASSERT_TRUE(view);
  ASSERT_EQ(view->file.metrics.size(), 1U);
  EXPECT_TRUE(view->file.metrics.contains(2));
}

TEST(ColumnMetrics, counts_nulls_among_the_values) {
  const Type integer(TypeKind::kInt);
  struct Case {
    const char* name;
    std::optional<std::int64_t> values, nulls, shown;
  } cases[] = {
      {"both", 7, 3, 10},           {"no_nulls", 7, 0, 7},   {"values_unknown", {}, 3, {}},
      {"nulls_unknown", 7, {}, {}}, {"negative", -1, 3, {}}, {"negative_nulls", 7, -3, {}}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    auto metrics = view_metrics({.value_count = c.values, .null_count = c.nulls}, integer, 10);
    EXPECT_EQ(metrics.value_count, c.shown);
  }
}

TEST(ColumnMetrics, says_nothing_of_values_that_nobody_counted) {
  const model::LakeColumnStats stats{.column_size_bytes = 50, .value_count = 0, .null_count = 0};
  auto metrics = view_metrics(stats, Type(TypeKind::kTime), 10);
  EXPECT_EQ(metrics.value_count, std::nullopt);
  EXPECT_EQ(metrics.null_count, std::nullopt);
  EXPECT_EQ(metrics.column_size, 50);
  EXPECT_EQ(view_metrics(stats, Type(TypeKind::kTime), 0).value_count, 0);
}

TEST(ColumnMetrics, shows_nan_counts_that_are_certain) {
  struct Case {
    const char* name;
    TypeKind type;
    std::optional<bool> contains;
    std::optional<std::int64_t> nulls, counted, shown;
    std::optional<std::int64_t> values = 10;
  } cases[] = {{"none_in_the_last_row_group", TypeKind::kDouble, false, 0, {}, {}},
               {"some_uncounted", TypeKind::kDouble, true, 0, {}, {}},
               {"some_counted", TypeKind::kFloat, true, 0, 4, 4},
               {"some_counted_before_the_last_row_group", TypeKind::kFloat, false, 0, 4, 4},
               {"none_counted", TypeKind::kFloat, false, 0, 0, 0},
               {"unknown", TypeKind::kFloat, {}, 0, {}, {}},
               {"all_null", TypeKind::kFloat, {}, 10, {}, 0, 0},
               {"as_many_nulls_as_rows_in_lists", TypeKind::kFloat, {}, 10, {}, {}, 3},
               {"not_a_float", TypeKind::kInt, false, 0, 4, {}}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    auto metrics = view_metrics({.value_count = c.values,
                                 .null_count = c.nulls,
                                 .contains_nan = c.contains,
                                 .nan_count = c.counted},
                                Type(c.type), 10);
    EXPECT_EQ(metrics.nan_count, c.shown);
  }
}

TEST(ColumnMetrics, bounds_exclude_no_value) {
  struct Case {
    const char* name;
    Type type;
    const char* low;
    const char* high;
    std::optional<Literal> lower, upper;
  } cases[] = {
      {"numbers", Type(TypeKind::kInt), "-1", "2", std::int32_t{-1}, std::int32_t{2}},
      {"zero_double", Type(TypeKind::kDouble), "0.0", "-0.0", -0.0, 0.0},
      {"zero_float", Type(TypeKind::kFloat), "0.0", "-0.0", -0.0F, 0.0F},
      {"nan_is_no_bound", Type(TypeKind::kDouble), "1.0", "nan", 1.0, kNone},
      {"infinite", Type(TypeKind::kDouble), "-inf", "inf", -std::numeric_limits<double>::infinity(),
       std::numeric_limits<double>::infinity()},
      {"long_text", Type(TypeKind::kString), "aaaaaaaaaaaaaaaaz", "bbbbbbbbbbbbbbbbz",
       text("aaaaaaaaaaaaaaaa"), text("bbbbbbbbbbbbbbbc")},
      {"whole_text", Type(TypeKind::kString), "aaaaaaaaaaaaaaaa", "b", text("aaaaaaaaaaaaaaaa"),
       text("b")},
      {"infinite_date", Type(TypeKind::kDate), "-infinity", "infinity", kNone, kNone},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    auto metrics = view_metrics({.min_value = c.low, .max_value = c.high}, c.type, 10);
    auto bytes = [](const std::optional<Literal>& value) {
      return value ? Text(encode_single_value(*value)) : kNone;
    };
    EXPECT_EQ(metrics.lower_bound, bytes(c.lower));
    EXPECT_EQ(metrics.upper_bound, bytes(c.upper));
  }
}

}  // namespace
}  // namespace lake::materialize
