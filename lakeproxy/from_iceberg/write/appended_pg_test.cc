#include "lakeproxy/ducklake/read/lake_reader.h"
#include "lakeproxy/from_iceberg/write/appended.h"
#include "lakeproxy/from_iceberg/write/lake_writer.h"
#include "lakeproxy/from_iceberg/write/record_fixture_test.h"
#include "lakeproxy/iceberg/metadata/table_metadata_json.h"
#include "lakeproxy/iceberg/update/metadata_change.h"
#include "lakeproxy/iceberg/value/single_value.h"

namespace lake::ducklake {
namespace {

using model::Literal;
using model::SnapshotId;
using model::Transform;
using model::TransformKind;
using model::Type;
using model::TypeKind;
using LakeTablePtr = std::shared_ptr<const model::LakeTable>;

const model::TableIdentifier kTable{model::Namespace{{"main"}}, "t"};

class Appends : public RecordFixture {
 protected:
  void SetUp() override { open(); }

  void make_table(const std::optional<Transform>& transform) {
    model::CreateTable request{.name = "t"};
    request.schema.fields = {{.id = 1, .name = "i", .type = Type(TypeKind::kLong)},
                             {.id = 2, .name = "d", .type = Type(TypeKind::kDouble)},
                             {.id = 3, .name = "s", .type = Type(TypeKind::kString)},
                             {.id = 4, .name = "at", .type = Type(TypeKind::kTimestamp)}};
    if (transform) request.spec = model::PartitionSpec{.fields = {{4, 1000, "p", *transform}}};
    auto made = model::new_table(
        request,
        {.uuid = base::make_uuid_v4(random_), .location = "s3://lake/data/main/t", .now_ms = 1});
    ASSERT_TRUE(made) << made.error().message();
    ASSERT_TRUE(run(writer().create_table(soon(), {kTable, *made, {}})));
  }
  LakeWriter writer() { return {*pool_, options_, clock_, random_}; }
  LakeTablePtr load() {
    LakeReader reader(*pool_, options_);
    auto table = run(reader.load_table(soon(), *run(reader.find_table(soon(), kTable))));
    EXPECT_TRUE(table) << table.error().message();
    return std::make_shared<const model::LakeTable>(std::move(*table));
  }
  model::LakeChanges changes(const LakeTablePtr& table) {
    LakeReader reader(*pool_, options_);
    auto found = run(reader.read_changes(soon(), table.get(), std::nullopt, table->pending.back()));
    EXPECT_TRUE(found) << found.error().message();
    return std::move(*found);
  }
  base::Result<ChangedTable> append(const LakeTablePtr& before,
                                    std::vector<AddedSnapshot> snapshots) {
    return run(writer().change_table(soon(), {before, before->metadata, std::move(snapshots)}));
  }
  void expect_as_read(const Appended& known) {
    const LakeTablePtr read = load();
    EXPECT_EQ(known.table.version, read->version);
    EXPECT_EQ(known.table.pending, read->pending);
    EXPECT_EQ(known.table.aliases, read->aliases);
    EXPECT_EQ(known.table.epoch, read->epoch);
    EXPECT_EQ(known.table.metadata.next_row_id, read->metadata.next_row_id);
    EXPECT_EQ(model::write_metadata(known.table.metadata), model::write_metadata(read->metadata));
    const model::LakeChanges found = changes(read);
    EXPECT_EQ(known.changes.after, found.after);
    EXPECT_EQ(known.changes.up_to, found.up_to);
    EXPECT_EQ(known.changes.commits, found.commits);
    EXPECT_EQ(known.changes.data_files, found.data_files);
    EXPECT_TRUE(found.delete_files.empty() && found.inlined.empty());
  }

  base::SystemClock clock_;
  base::SystemRandom random_;
};

AddedFile added(const char* path) {
  AddedFile added;
  added.file.file_path = path;
  added.file.record_count = 100;
  added.file.file_size_in_bytes = 1000;
  return added;
}

// What clients say of a file, from nothing to everything and beyond.
std::vector<AddedFile> many_kinds(const std::optional<Literal>& partition) {
  auto plain = added("s3://lake/data/main/t/plain.parquet");
  auto full = added("s3://elsewhere/full.parquet");
  full.file.metrics[1] = {
      .column_size = 50,
      .value_count = 100,
      .null_count = 10,
      .lower_bound = materialize::encode_single_value(Literal(std::int64_t{-3})),
      .upper_bound = materialize::encode_single_value(Literal(std::int64_t{9}))};
  full.file.metrics[2] = {.value_count = 100,
                          .null_count = 0,
                          .nan_count = 7,
                          .lower_bound = materialize::encode_single_value(Literal(-0.5)),
                          .upper_bound = materialize::encode_single_value(Literal(1e300))};
  full.file.metrics[3] = {.lower_bound = std::string("a\0", 2), .upper_bound = "\"q\\{},"};
  full.file.split_offsets = {4, 400};
  full.file.sort_order_id = 0;
  full.file.key_metadata = std::string("\0\xffk", 3);
  auto odd = added("s3://lake/data/main/t/deep/\"odd\", {name}.parquet");
  odd.file.metrics[1] = {.column_size = -1, .value_count = 1, .null_count = 2};
  odd.file.metrics[2] = {.nan_count = 0};
  odd.file.metrics[99] = {.value_count = 1};
  odd.file.key_metadata = "";
  std::vector<AddedFile> files{plain, full, odd};
  for (AddedFile& file : files) file.file.partition = {partition};
  return files;
}

TEST_F(Appends, are_known_as_a_reader_finds_them) {
  struct {
    const char* name;
    std::optional<Transform> transform;
    std::vector<std::optional<Literal>> partitions;
  } cases[] = {
      {"unpartitioned", std::nullopt, {}},
      {"identity", Transform{TransformKind::kIdentity}, {std::nullopt, Literal(std::int64_t{7})}},
      {"day", Transform{TransformKind::kDay}, {Literal(std::int32_t{-1})}},
      {"bucket", Transform{TransformKind::kBucket, 8}, {Literal(std::int32_t{3})}},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    make_table(c.transform);
    auto partitions = c.partitions;
    if (partitions.empty()) partitions.emplace_back();
    for (const auto& partition : partitions) {
      auto before = load();
      auto files = many_kinds(partition);
      for (AddedFile& file : files) {
        file.spec_id = before->metadata.default_spec_id;
        if (!c.transform) file.file.partition.clear();
      }
      auto done = append(
          before, {{SnapshotId(77), files, R"({"k":"v"})"}, {SnapshotId(78), {files.front()}, ""}});
      ASSERT_TRUE(done) << done.error().message() << done.error().detail();
      ASSERT_TRUE(done->appended);
      expect_as_read(*done->appended);
      ASSERT_TRUE(run(writer().drop_table(soon(), kTable)));
      make_table(c.transform);
    }
    ASSERT_TRUE(run(writer().drop_table(soon(), kTable)));
  }
}

TEST_F(Appends, of_files_without_field_ids_bring_the_names_of_their_columns) {
  make_table(std::nullopt);
  const model::LakeNameMap names{{{1, {"I"}}, {3, {"s", true}}}};
  std::vector<AddedFile> files{added("s3://lake/a.parquet"), added("s3://lake/b.parquet"),
                               added("s3://lake/c.parquet")};
  files[0].names = names;
  files[2].names = names;
  auto done = append(load(), {{SnapshotId(77), files, ""}});
  ASSERT_TRUE(done) << done.error().message() << done.error().detail();
  EXPECT_FALSE(done->appended) << "the table's own names have changed";
  const LakeTablePtr read = load();
  ASSERT_EQ(read->name_maps.size(), 1) << "files with the same names share one mapping";
  EXPECT_EQ(read->name_maps.begin()->second, names);
  std::vector<std::optional<std::int64_t>> of_files;
  for (const auto& [id, file] : changes(read).data_files) of_files.push_back(file.mapping_id);
  const std::int64_t mapping = read->name_maps.begin()->first;
  EXPECT_EQ(of_files, (std::vector<std::optional<std::int64_t>>{mapping, std::nullopt, mapping}));
}

TEST_F(Appends, that_change_more_than_rows_are_read) {
  make_table(std::nullopt);
  auto before = load();
  model::TableMetadata after = before->metadata;
  after.properties["k"] = "v";
  auto done = run(writer().change_table(
      soon(), {before, after, {{SnapshotId(5), {added("s3://lake/data/main/t/f")}, ""}}}));
  ASSERT_TRUE(done);
  EXPECT_FALSE(done->appended);
  before = load();
  ASSERT_FALSE(before->pending.empty());
  done = append(before, {{SnapshotId(6), {added("s3://lake/data/main/t/g")}, ""}});
  ASSERT_TRUE(done);
  EXPECT_FALSE(done->appended) << "what was pending before is to be shown too";
}

TEST_F(Appends, stand_on_an_old_reading_while_nobody_touched_the_table) {
  make_table(std::nullopt);
  auto before = load();
  ASSERT_TRUE(run(writer().create_namespace(soon(), model::Namespace{{"other"}}, {})));
  auto done = append(before, {{SnapshotId(5), {added("s3://lake/data/main/t/f")}, ""}});
  ASSERT_TRUE(done) << done.error().message();
  ASSERT_TRUE(done->appended);
  expect_as_read(*done->appended);
}

TEST_F(Appends, do_not_stand_on_a_reading_that_the_history_does_not_reach) {
  make_table(std::nullopt);
  auto before = load();
  exec(
      "INSERT INTO ducklake_snapshot SELECT n, now(), 0, 3, 0 FROM generate_series(2, 4) n; "
      "INSERT INTO ducklake_snapshot_changes SELECT n, 'inserted_into_table:99' FROM "
      "generate_series(2, 4) n");
  struct {
    const char* name;
    const char* sql;
  } cases[] = {
      {"changes are gone", "DELETE FROM ducklake_snapshot_changes WHERE snapshot_id = 3"},
      {"snapshots were removed", "DELETE FROM ducklake_snapshot WHERE snapshot_id = 3"},
  };
  for (const auto& c : cases) {
    exec(c.sql);
    auto done = append(before, {{SnapshotId(5), {added("s3://lake/data/main/t/f")}, ""}});
    ASSERT_FALSE(done) << c.name;
    EXPECT_EQ(done.error().reason(), kStale) << c.name;
  }
  ASSERT_TRUE(append(load(), {{SnapshotId(5), {added("s3://lake/data/main/t/f")}, ""}}));
}

TEST_F(Appends, are_remembered_once_whoever_says_it) {
  make_table(std::nullopt);
  auto table = load();
  Published one = published(table->table_id);
  one.epoch = table->epoch;
  model::Snapshot snapshot;
  snapshot.snapshot_id = SnapshotId(1);
  snapshot.manifest_list = "s3://lake/list";
  one.snapshots.push_back(snapshot);
  one.metadata_sequence = 1;
  one.metadata_file = {5, "s3://lake/one.metadata.json"};
  EXPECT_TRUE(record(one));
  EXPECT_TRUE(record(one)) << "the same again";
  auto other = one;
  other.metadata_file->metadata_file = "s3://lake/other.metadata.json";
  EXPECT_FALSE(record(other));
  other = one;
  other.snapshots.front().manifest_list = "s3://lake/other";
  EXPECT_FALSE(record(other));
  EXPECT_EQ(load()->metadata.metadata_log.size(), 1U);
}

}  // namespace
}  // namespace lake::ducklake
