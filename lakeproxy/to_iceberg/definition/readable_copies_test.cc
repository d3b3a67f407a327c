#include "lakeproxy/to_iceberg/definition/readable_copies.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>

namespace lake::ducklake {
namespace {

using model::SnapshotId;
using model::Type;
using model::TypeKind;

constexpr const char* kTable = "s3://lake/s/t";
const SnapshotId kNewest(9);

LakeColumn column(model::FieldId id, const char* type, int begin,
                  std::optional<int> end = std::nullopt) {
  LakeColumn made{.id = id, .begin = SnapshotId(begin), .order = id, .name = "c", .type = type};
  if (end) made.end = SnapshotId(*end);
  return made;
}

model::LakeDataFile file(int begin) {
  return {.id = model::DataFileId(7),
          .begin = SnapshotId(begin),
          .path = "s3://lake/s/t/f.parquet",
          .file_size_bytes = 100};
}

std::optional<model::ReadableCopy> copy_of(std::vector<LakeColumn> columns,
                                           const model::LakeDataFile& of,
                                           std::int32_t version = 2) {
  const LakeColumns all{
      .columns = std::move(columns), .format_version = version, .copies = ReadableCopies::kOn};
  return CopyRules(all).copy_of(of, nullptr, kTable, kNewest);
}

// As a file that was added as it is, whose columns have these names.
struct Added {
  std::optional<model::ReadableCopy> needed;
  std::optional<model::ReadableCopy> if_unlike;
};
Added added_with(std::vector<LakeColumn> columns,
                 std::map<model::FieldId, model::LakeNameMap::Column> names, int begin = 2) {
  const LakeColumns all{
      .columns = std::move(columns), .format_version = 2, .copies = ReadableCopies::kOn};
  auto of = file(begin);
  of.mapping_id = 1;
  auto as = std::make_shared<model::AddedColumns>();
  as->names.columns = std::move(names);
  const CopyRules rules(all);
  auto copy = rules.copy_of(of, as, kTable, kNewest);
  const bool is_needed = copy && !copy->columns.empty();
  return is_needed ? Added{.needed = copy} : Added{.if_unlike = copy};
}

std::vector<model::CopiedColumn> changed_in_rows(std::vector<LakeColumn> columns,
                                                 std::int32_t version = 2) {
  const LakeColumns all{
      .columns = std::move(columns), .format_version = version, .copies = ReadableCopies::kOn};
  auto changed = CopyRules(all).changed_in_rows(SnapshotId(2), kNewest);
  return changed ? changed->columns : std::vector<model::CopiedColumn>{};
}

TEST(ChangedColumns, are_those_that_an_alter_changed_without_a_promotion) {
  struct Case {
    const char* from;
    const char* to;
    bool changes;
  };
  for (const Case& c : {Case{"int32", "int32", false}, Case{"int32", "int64", false},
                        Case{"int32", "float64", true}, Case{"int32", "varchar", true},
                        Case{"uint32", "uint32", false}, Case{"uint32", "uint64", true},
                        Case{"uint8", "int64", false}, Case{"date", "timestamp", true}}) {
    auto changed = changed_in_rows({column(1, c.from, 1, 5), column(1, c.to, 5)});
    ASSERT_EQ(changed.size(), c.changes ? 1U : 0U) << c.from << " to " << c.to;
    if (c.changes) EXPECT_EQ(changed[0].from, c.from);
  }
  // What was so already when the rows were inserted.
  EXPECT_TRUE(changed_in_rows({column(1, "int32", 1, 2), column(1, "float64", 2)}).empty());
}

TEST(ChangedColumns, have_a_default_where_the_format_version_has_no_word_for_it) {
  LakeColumn later = column(2, "int32", 5);
  later.initial_default = "7";
  auto changed = changed_in_rows({column(1, "int32", 1), later});
  ASSERT_EQ(changed.size(), 1);
  EXPECT_EQ(changed[0].constant, "7");
  EXPECT_TRUE(changed_in_rows({column(1, "int32", 1), later}, 3).empty());
  later.initial_default.reset();
  EXPECT_TRUE(changed_in_rows({column(1, "int32", 1), later}).empty());
}

TEST(ReadableCopy, is_needed_for_values_that_clients_misread) {
  struct Case {
    const char* type;
    std::optional<Type> to;
  };
  const Case cases[] = {{"int32", std::nullopt},
                        {"timestamp_s", std::nullopt},
                        {"int128", std::nullopt},
                        {"uint8", Type(TypeKind::kInt)},
                        {"uint16", Type(TypeKind::kInt)},
                        {"uint32", Type(TypeKind::kLong)},
                        {"uint64", Type::decimal(20, 0)},
                        {"timestamp_ms", Type(TypeKind::kTimestamp)},
                        {"interval", Type(TypeKind::kString)}};
  for (const Case& c : cases) {
    auto copy = copy_of({column(1, c.type, 1)}, file(2));
    EXPECT_EQ(copy.has_value(), c.to.has_value()) << c.type;
    if (!copy || !c.to) continue;
    ASSERT_EQ(copy->columns.size(), 1) << c.type;
    EXPECT_EQ(copy->columns[0].to, *c.to) << c.type;
    EXPECT_EQ(copy->columns[0].from, c.type);
    EXPECT_EQ(copy->since, SnapshotId(2));
    EXPECT_TRUE(is_copy_location(copy->location, kTable)) << copy->location;
  }
}

TEST(ReadableCopy, of_a_nested_part_is_one_of_the_file) {
  LakeColumn element = column(2, "uint32", 1);
  element.parent = 1;
  auto copy = copy_of({column(1, "list", 1), element}, file(2));
  ASSERT_TRUE(copy);
  EXPECT_EQ(copy->columns[0].id, 2);
}

TEST(ReadableCopy, is_never_made_of_files_of_clients_or_where_it_is_off) {
  auto of_client = file(2);
  of_client.iceberg.emplace();
  EXPECT_FALSE(copy_of({column(1, "uint32", 1)}, of_client));
  const LakeColumns off{.columns = {column(1, "uint32", 1)}};
  EXPECT_FALSE(CopyRules(off).copy_of(file(2), nullptr, kTable, kNewest));
}

TEST(CopyOfAnAddedFile, is_needed_for_what_the_lake_says_or_else_for_its_footer) {
  // Its form in the file is what the footer says, not the lake's type.
  const Added plain = added_with({column(1, "uint32", 1)}, {{1, {"c"}}});
  EXPECT_FALSE(plain.needed);
  ASSERT_TRUE(plain.if_unlike);
  EXPECT_TRUE(plain.if_unlike->columns.empty());
  EXPECT_EQ(plain.if_unlike->since, SnapshotId(2));
  EXPECT_EQ(plain.if_unlike->added->names.columns.at(1).name, "c");
  const Added changed =
      added_with({column(1, "int32", 1, 5), column(1, "float64", 5)}, {{1, {"c"}}});
  ASSERT_TRUE(changed.needed);
  EXPECT_EQ(changed.needed->since, SnapshotId(5));
  EXPECT_TRUE(changed.needed->added);
  EXPECT_FALSE(added_with({column(1, "int32", 1, 5), column(1, "int64", 5)}, {{1, {"c"}}}).needed);
}

TEST(CopyOfAnAddedFile, holds_the_default_of_a_column_that_it_lacks_whenever_it_came) {
  LakeColumn defaulted = column(2, "int32", 2);
  defaulted.initial_default = "7";
  const Added lacks = added_with({column(1, "int32", 1), defaulted}, {{1, {"c"}}}, 4);
  ASSERT_TRUE(lacks.needed);
  EXPECT_EQ(lacks.needed->columns[0].constant, "7");
  EXPECT_EQ(lacks.needed->since, SnapshotId(4));
  EXPECT_FALSE(added_with({column(1, "int32", 1), defaulted}, {{1, {"c"}}, {2, {"d"}}}, 4).needed);
}

// Of a file whose path says the column 1, with these statistics of it.
std::vector<model::CopiedColumn> of_path(std::vector<LakeColumn> columns, std::string path,
                                         model::LakeColumnStats stats) {
  const LakeColumns all{
      .columns = std::move(columns), .format_version = 2, .copies = ReadableCopies::kOn};
  auto of = file(2);
  of.mapping_id = 1;
  of.record_count = 3;
  of.path = std::move(path);
  of.stats.push_back(std::move(stats));
  auto as = std::make_shared<model::AddedColumns>();
  as->names.columns = {{1, {"p", true}}};
  auto copy = CopyRules(all).copy_of(of, as, kTable, kNewest);
  return copy ? copy->columns : std::vector<model::CopiedColumn>();
}
model::LakeColumnStats one_value(const char* value) {
  return {.column_id = 1, .null_count = 0, .min_value = value, .max_value = value, .nan_count = 0};
}

TEST(CopyOfAnAddedFile, leaves_to_its_partition_what_stands_in_its_path) {
  LakeColumn defaulted = column(2, "int32", 1);
  defaulted.initial_default = "7";
  EXPECT_FALSE(
      added_with({column(1, "int32", 1), defaulted}, {{1, {"c"}}, {2, {"p", true}}}).needed);
  for (const char* type : {"int32", "uint64", "float64", "varchar", "date", "decimal(5,1)"}) {
    EXPECT_TRUE(of_path({column(1, type, 1)}, "s3://lake/t/p=5/f", one_value("5")).empty()) << type;
  }
  EXPECT_TRUE(of_path({column(1, "int8", 1, 5), column(1, "int64", 5)}, "s3://lake/t/p=7.6/f",
                      one_value("8"))
                  .empty());
}

// As DuckDB reads it: the path's text as the type of now.
TEST(CopyOfAnAddedFile, holds_what_its_path_says_where_no_partition_tells_it) {
  struct Case {
    const char* from;
    const char* to;
    const char* text;
    const char* min;
    Type type;
  };
  for (const Case& c :
       {Case{"int32", "float64", "7.6", "8", Type(TypeKind::kDouble)},
        Case{"float32", "float64", "0.1", "0.1", Type(TypeKind::kDouble)},
        Case{"decimal(5,1)", "decimal(9,3)", "1.25", "1.3", Type::decimal(9, 3)},
        Case{"timestamp_s", "timestamp", "2024-01-05 11%3A00%3A00.5", "2024-01-05 11:00:01",
             Type(TypeKind::kTimestamp)},
        Case{"date", "timestamp", "2024-01-05", "2024-01-05", Type(TypeKind::kTimestamp)}}) {
    auto held = of_path({column(1, c.from, 1, 5), column(1, c.to, 5)},
                        std::string("s3://lake/t/p=") + c.text + "/p=9/f", one_value(c.min));
    ASSERT_EQ(held.size(), 1U) << c.from;
    EXPECT_EQ(held[0].to, c.type) << c.from;
    EXPECT_EQ(*held[0].constant, c.text == std::string("2024-01-05 11%3A00%3A00.5")
                                     ? "2024-01-05 11:00:00.5"
                                     : c.text);
  }
  for (const char* zero : {"0.0", "-0.0"}) {
    auto held = of_path({column(1, "float64", 1)}, "s3://lake/t/p=0e5/f", one_value(zero));
    ASSERT_EQ(held.size(), 1U);
    EXPECT_EQ(held[0].constant, "0e5");
  }
  auto nan = one_value("1");
  nan.min_value.reset();
  nan.nan_count = 3;
  EXPECT_EQ(of_path({column(1, "float32", 1)}, "s3://lake/t/p=nan/f", nan).size(), 1U);
}

TEST(CopyOfAnAddedFile, holds_nothing_of_its_path_that_is_not_told) {
  std::vector<LakeColumn> changed = {column(1, "int32", 1, 5), column(1, "float64", 5)};
  EXPECT_TRUE(of_path(changed, "s3://lake/t/q=7/f", one_value("7")).empty());
  EXPECT_TRUE(of_path(changed, "s3://lake/t/p=7/f", {.column_id = 2}).empty());
  EXPECT_TRUE(of_path(changed, "s3://lake/t/p=7/f", {.column_id = 1}).empty());
  // A NULL needs no value in the copy.
  EXPECT_TRUE(of_path(changed, "s3://lake/t/p=__HIVE_DEFAULT_PARTITION__/f",
                      {.column_id = 1, .null_count = 3})
                  .empty());
}

TEST(CopyOfAnAddedFile, is_another_for_other_names_of_the_same_file) {
  const Added one = added_with({column(1, "int32", 1), column(2, "int32", 1)}, {{1, {"a"}}});
  const Added two = added_with({column(1, "int32", 1), column(2, "int32", 1)}, {{2, {"a"}}});
  ASSERT_TRUE(one.if_unlike && two.if_unlike);
  EXPECT_NE(one.if_unlike->location, two.if_unlike->location);
}

TEST(CopyOfAnAddedFile, is_none_where_the_lake_lost_its_names_or_nobody_added_it) {
  const LakeColumns plain{
      .columns = {column(1, "int32", 1)}, .format_version = 2, .copies = ReadableCopies::kOn};
  EXPECT_FALSE(CopyRules(plain).copy_of(file(2), nullptr, kTable, kNewest));
  // Of a column that would need one in a file of DuckDB's.
  const LakeColumns unlike{
      .columns = {column(1, "uint32", 1)}, .format_version = 2, .copies = ReadableCopies::kOn};
  auto of = file(2);
  EXPECT_TRUE(CopyRules(unlike).copy_of(of, nullptr, kTable, kNewest));
  of.mapping_id = 1;
  EXPECT_FALSE(CopyRules(unlike).copy_of(of, nullptr, kTable, kNewest));
}

TEST(ReadableCopy, follows_a_change_of_type_that_clients_cannot_promote) {
  auto changed = copy_of({column(1, "int32", 1, 5), column(1, "float64", 5)}, file(2));
  ASSERT_TRUE(changed);
  EXPECT_EQ(changed->since, SnapshotId(5));
  EXPECT_EQ(changed->columns[0].to, Type(TypeKind::kDouble));
  EXPECT_FALSE(copy_of({column(1, "int32", 1, 5), column(1, "int64", 5)}, file(2)));
  EXPECT_FALSE(copy_of({column(1, "int32", 1, 5), column(1, "float64", 5)}, file(6)));
  // Their transaction may have written it before the change.
  EXPECT_TRUE(copy_of({column(1, "int32", 1, 5), column(1, "float64", 5)}, file(5)));
  // A file that ended before keeps its type.
  auto ended = file(2);
  ended.end = SnapshotId(5);
  EXPECT_FALSE(copy_of({column(1, "int32", 1, 5), column(1, "float64", 5)}, ended));
  // What clients promote by themselves needs no other copy.
  auto promoted = copy_of({column(1, "uint8", 1, 5), column(1, "int64", 5)}, file(2));
  auto plain = copy_of({column(1, "uint8", 1)}, file(2));
  ASSERT_TRUE(promoted && plain);
  EXPECT_EQ(promoted->location, plain->location);
}

TEST(ReadableCopy, holds_defaults_that_the_file_lacks) {
  LakeColumn added = column(2, "int32", 5);
  added.initial_default = "7";
  auto copy = copy_of({column(1, "int32", 1), added}, file(2));
  ASSERT_TRUE(copy);
  EXPECT_EQ(copy->columns[0].constant, "7");
  EXPECT_EQ(copy->since, SnapshotId(5));
  EXPECT_FALSE(copy_of({column(1, "int32", 1), added}, file(2), 3)) << "clients know it";
  EXPECT_FALSE(copy_of({column(1, "int32", 1), added}, file(6)));
  // Written first in the transaction that added the column, or behind it.
  EXPECT_TRUE(copy_of({column(1, "int32", 1), added}, file(5)));
  auto behind = file(5);
  behind.stats.push_back({.column_id = 2});
  EXPECT_FALSE(copy_of({column(1, "int32", 1), added}, behind));
  added.initial_default = "NULL";
  EXPECT_FALSE(copy_of({column(1, "int32", 1), added}, file(2)));
}

// Of the lake's column 1, which clients see as these types from these snapshots on.
std::optional<model::ReadableCopy> copy_of_geography(
    const model::LakeDataFile& of, const std::vector<std::pair<int, Type>>& shown,
    std::vector<LakeColumn> columns = {column(1, "geometry", 1)},
    std::shared_ptr<const model::AddedColumns> added = nullptr) {
  model::LakeTable table;
  for (const auto& [from, type] : shown) {
    const auto id = static_cast<std::int32_t>(table.metadata.schemas.size());
    table.metadata.schemas.push_back(
        {.schema_id = id, .fields = {{.id = 1, .name = "g", .type = type}}});
    table.schema_at[SnapshotId(from)] = id;
  }
  const LakeColumns all{
      .columns = std::move(columns), .format_version = 3, .copies = ReadableCopies::kOn};
  return CopyRules(all, geographies_of(table)).copy_of(of, std::move(added), kTable, kNewest);
}

TEST(ReadableCopy, says_geography_of_what_duckdb_wrote_into_one) {
  const Type geography = Type::geo(TypeKind::kGeography, "srid:4326, karney");
  auto copy = copy_of_geography(file(2), {{1, geography}});
  ASSERT_TRUE(copy);
  EXPECT_EQ(copy->columns, (std::vector<model::CopiedColumn>{{1, "geometry", geography, ""}}));
  EXPECT_EQ(copy->since, SnapshotId(2));
  EXPECT_FALSE(copy_of_geography(file(2), {{1, Type::geo(TypeKind::kGeometry, "")}}));
  auto of_client = file(2);
  of_client.iceberg = model::IcebergFileFacts{};
  EXPECT_FALSE(copy_of_geography(of_client, {{1, geography}})) << "its writer knew the type";
  // It stays the same whatever becomes of the column, and of the table's schemas.
  auto gone =
      copy_of_geography(file(2), {{1, geography}, {3, geography}}, {column(1, "geometry", 1, 5)});
  ASSERT_TRUE(gone);
  EXPECT_EQ(gone->location, copy->location);
}

TEST(ReadableCopy, of_a_file_without_the_geography_or_after_it_is_none) {
  const Type geography = Type::geo(TypeKind::kGeography, "");
  EXPECT_FALSE(copy_of_geography(file(2), {{4, geography}}, {column(1, "geometry", 4)}));
  EXPECT_TRUE(copy_of_geography(file(4), {{4, geography}}, {column(1, "geometry", 3)}));
  // DuckDB made another type of it, and a geometry again.
  EXPECT_FALSE(copy_of_geography(
      file(8),
      {{1, geography}, {4, Type(TypeKind::kString)}, {6, Type::geo(TypeKind::kGeometry, "")}},
      {column(1, "geometry", 1, 4), column(1, "varchar", 4, 6), column(1, "geometry", 6)}));
}

TEST(CopyOfAnAddedFile, of_a_geography_is_one_if_its_footer_says_otherwise) {
  auto as = std::make_shared<model::AddedColumns>();
  as->names.columns = {{1, {"g"}}};
  auto of = file(2);
  of.mapping_id = 1;
  auto copy = copy_of_geography(of, {{1, Type::geo(TypeKind::kGeography, "")}},
                                {column(1, "geometry", 1)}, as);
  ASSERT_TRUE(copy);
  EXPECT_TRUE(copy->columns.empty());
}

TEST(ReadableCopy, stays_the_same_when_a_column_goes_or_gets_another_name) {
  auto before = copy_of({column(1, "uint32", 1)}, file(2));
  auto gone = copy_of({column(1, "uint32", 1, 5)}, file(2));
  LakeColumn renamed = column(1, "uint32", 5);
  renamed.name = "other";
  auto after = copy_of({column(1, "uint32", 1, 5), renamed}, file(2));
  ASSERT_TRUE(before && gone && after);
  EXPECT_EQ(gone->location, before->location);
  EXPECT_EQ(after->location, before->location);
  EXPECT_EQ(after->since, SnapshotId(2));
}

TEST(ReadableCopy, is_the_same_for_a_file_that_comes_back_under_another_id) {
  auto again = file(2);
  again.id = model::DataFileId(99);
  auto one = copy_of({column(1, "uint32", 1)}, file(2));
  auto two = copy_of({column(1, "uint32", 1)}, again);
  ASSERT_TRUE(one && two);
  EXPECT_EQ(one->location, two->location);
}

TEST(ReadableCopy, is_named_by_its_file_too) {
  auto other = file(2);
  other.path = "s3://lake/s/t/g.parquet";
  auto one = copy_of({column(1, "uint32", 1)}, file(2));
  auto two = copy_of({column(1, "uint32", 1)}, other);
  ASSERT_TRUE(one && two);
  EXPECT_NE(one->location, two->location);
}

TEST(CopyLocation, is_known_by_its_form) {
  EXPECT_TRUE(is_copy_location("s3://lake/s/t/metadata/lake/copy-0123456789abcdef", kTable));
  for (const char* name :
       {"copy-0123456789abcde", "copy--0123456789abcdef", "copy-0123456789abcdeg",
        "copy-0123456789abcdef0", "inlined-0123456789abcdef"}) {
    EXPECT_FALSE(is_copy_location(std::string(kTable) + "/metadata/lake/" + name, kTable)) << name;
  }
  EXPECT_FALSE(is_copy_location("s3://lake/s/t2/metadata/lake/copy-0123456789abcdef", kTable));
}

}  // namespace
}  // namespace lake::ducklake
