// A lake whose every row DuckDB wrote: tests/golden/ducklake/make.py made it.

#include "base/core/text.h"
#include "base/testing/golden.h"
#include "lakeproxy/ducklake/lake/lake_fixture_test.h"
#include "lakeproxy/ducklake/read/lake_reader.h"

namespace lake::ducklake {
namespace {

using model::Field;
using model::LakeChanges;
using model::LakeTable;
using model::Namespace;
using model::SnapshotId;
using model::Type;
using model::TypeKind;

class DuckDbLake : public LakeFixture {
 protected:
  void SetUp() override {
    options_.metadata_schema = "golden";
    auto loaded = run(pool_->script(soon(), base::testing::read_golden("ducklake/lake.sql")));
    ASSERT_TRUE(loaded) << loaded.error().detail();
    open();
    reader_ = std::make_unique<LakeReader>(*pool_, options_);
  }

  base::Result<LakeTable> try_load(const std::string& name) {
    auto id = run(reader_->find_table(soon(), {Namespace{{"s1"}}, name}));
    if (!id) return std::move(id).error();
    return run(reader_->load_table(soon(), *id));
  }
  LakeTable load(const std::string& name) {
    auto table = try_load(name);
    EXPECT_TRUE(table) << table.error().message() << table.error().detail();
    return table ? std::move(*table) : LakeTable{};
  }
  LakeChanges changes(const LakeTable& table) {
    auto read = run(reader_->read_changes(soon(), &table, std::nullopt, table.version.snapshot));
    EXPECT_TRUE(read) << read.error().message() << read.error().detail();
    return read ? std::move(*read) : LakeChanges{};
  }
  static std::vector<std::int64_t> pending(const LakeTable& table) {
    std::vector<std::int64_t> ids;
    for (SnapshotId id : table.pending) ids.push_back(id.value);
    return ids;
  }

  std::unique_ptr<LakeReader> reader_;
};

using Ids = std::vector<std::int64_t>;

TEST_F(DuckDbLake, names) {
  auto namespaces = run(reader_->list_namespaces(soon(), std::nullopt, {}));
  ASSERT_TRUE(namespaces);
  EXPECT_EQ(namespaces->items, (std::vector<Namespace>{{{"main"}}, {{"s1"}}}));
  auto tables = run(reader_->list_tables(soon(), Namespace{{"s1"}}, {}));
  ASSERT_TRUE(tables);
  EXPECT_EQ(tables->items, (std::vector<std::string>{"b", "flushed", "grown", "inlined", "nested",
                                                     "spread", "wide"}));
}

TEST_F(DuckDbLake, evolution_of_a_table) {
  const LakeTable table = load("b");
  EXPECT_EQ(table.created, SnapshotId(2));
  EXPECT_EQ(table.metadata.location, "s3://lake/data/s1/a");
  EXPECT_EQ(table.metadata.properties.at("comment"), "table comment");
  // Made, commented, NOT NULL dropped, widened, a column added and dropped.
  ASSERT_EQ(table.metadata.schemas.size(), 5);
  EXPECT_TRUE(table.metadata.schemas[0].fields[0].required);
  EXPECT_EQ(table.metadata.schemas[1].fields[0].doc, "column comment");
  EXPECT_FALSE(table.metadata.schemas[2].fields[0].required);
  EXPECT_EQ(table.metadata.schemas[3].fields[0].type, Type(TypeKind::kLong));
  EXPECT_EQ(table.metadata.schemas[4].fields[3].name, "we\"ird,:x");
  EXPECT_EQ(table.metadata.current_schema_id, 3);
  EXPECT_EQ(table.metadata.last_column_id, 4);
  ASSERT_EQ(table.metadata.partition_specs.size(), 2);
  EXPECT_EQ(table.metadata.partition_specs[1].fields[1].name, "ts_day");
  EXPECT_EQ(table.metadata.default_spec_id, 0) << "reset";
  ASSERT_EQ(table.metadata.sort_orders.size(), 2);
  EXPECT_EQ(table.metadata.sort_orders[1].fields[0].source_id, 2);
  EXPECT_EQ(table.metadata.default_sort_order_id, 1);
  EXPECT_EQ(pending(table), (Ids{5, 7}));
  const LakeChanges read = changes(table);
  EXPECT_EQ(read.data_files.size(), 6);
  const model::LakeDataFile& file = read.data_files.begin()->second;
  EXPECT_EQ(table.spec_of_partition.at(*file.partition_id), 1);
  EXPECT_EQ(file.partition_values.size(), 2);
  EXPECT_TRUE(file.path.starts_with("s3://lake/data/s1/a/i="));
}

TEST_F(DuckDbLake, nested_columns) {
  const LakeTable table = load("nested");
  const Field& x = table.metadata.current_schema().fields[0];
  ASSERT_EQ(x.type.children().size(), 2);
  EXPECT_EQ(x.type.children()[0].name, "aa");
  EXPECT_EQ(x.type.children()[1].name, "c");
  EXPECT_FALSE(x.type.children()[1].required) << "older rows lack it";
  EXPECT_EQ(table.metadata.current_schema().fields[1].type,
            Type::list(5, Type(TypeKind::kInt), false));
}

TEST_F(DuckDbLake, inlined_rows) {
  const LakeTable table = load("inlined");
  EXPECT_EQ(pending(table), (Ids{23, 24}));
  const LakeChanges read = changes(table);
  ASSERT_EQ(read.inlined.size(), 1);
  const model::LakeInlinedTable& inlined = read.inlined[0];
  EXPECT_EQ(inlined.columns, table.metadata.current_schema().fields);
  ASSERT_EQ(inlined.rows.size(), 2);
  using Values = std::vector<std::optional<std::string>>;
  EXPECT_EQ(inlined.rows[0].values,
            (Values{"true", "nan", "h\xc3\xa9", std::string("\0\xff", 2),
                    "00000000-0000-0000-0000-000000000001", "2024-02-29", "1.50", "[q, r]"}));
  EXPECT_EQ(inlined.rows[1].values,
            (Values{"false", "-inf", std::nullopt, std::nullopt, std::nullopt, std::nullopt,
                    std::nullopt, std::nullopt}));
  EXPECT_EQ(inlined.rows[1].begin, SnapshotId(23));
  EXPECT_EQ(inlined.rows[1].end, SnapshotId(24));
}

TEST_F(DuckDbLake, deletes_and_a_default) {
  auto refused = try_load("grown");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), base::ErrorKind::kUnsupported);
  options_.default_format_version = 3;
  reader_ = std::make_unique<LakeReader>(*pool_, options_);
  const LakeTable table = load("grown");
  // The last one is the ALTER, at which copies may take the place of older files.
  EXPECT_EQ(pending(table), (Ids{26, 27, 28, 29}));
  const LakeChanges read = changes(table);
  EXPECT_EQ(read.delete_files.size(), 1);
  ASSERT_EQ(read.inlined_deletes.size(), 1);
  EXPECT_EQ(read.inlined_deletes[0].row_id, 3);
  EXPECT_EQ(read.inlined_deletes[0].begin, SnapshotId(27));
  EXPECT_TRUE(read.data_files.contains(read.inlined_deletes[0].data_file_id));
}

TEST_F(DuckDbLake, a_flush) {
  const LakeTable table = load("flushed");
  EXPECT_EQ(table.last_maintenance, SnapshotId(34));
  EXPECT_EQ(pending(table), (Ids{31, 32, 33, 34, 35}));
  const LakeChanges read = changes(table);
  EXPECT_EQ(read.data_files.size(), 2);
  EXPECT_EQ(read.data_files.rbegin()->second.partial_max, SnapshotId(33));
  ASSERT_EQ(read.inlined.size(), 1);
  EXPECT_EQ(read.inlined[0].rows[0].values[0], "102");
}

TEST_F(DuckDbLake, types_that_are_shown_as_another) {
  const LakeTable table = load("wide");
  const auto& fields = table.metadata.current_schema().fields;
  auto wide = std::ranges::find(fields, "h", &model::Field::name);
  ASSERT_NE(wide, fields.end());
  EXPECT_EQ(wide->type, model::Type(model::TypeKind::kDouble));
  EXPECT_EQ(table.lake_types.at(wide->id), "int128");
}

TEST_F(DuckDbLake, calendar_and_bucket_partitions) {
  const LakeTable table = load("spread");
  ASSERT_EQ(table.metadata.partition_specs.size(), 2);
  std::vector<std::string> names;
  for (const auto& field : table.metadata.partition_specs[1].fields) names.push_back(field.name);
  EXPECT_EQ(names, (std::vector<std::string>{"d_year", "d_month", "s_bucket"}))
      << "the bucket of a uuid is not Iceberg's";
  ASSERT_EQ(table.keys_of_partition.size(), 1);
  EXPECT_EQ(table.keys_of_partition.begin()->second,
            (model::PartitionKeys{.count = 4, .of_field = {1, 2, 3}}));
  const LakeChanges read = changes(table);
  ASSERT_EQ(read.data_files.size(), 12);
  EXPECT_EQ(read.data_files.begin()->second.partition_values.size(), 4);
}

}  // namespace
}  // namespace lake::ducklake
