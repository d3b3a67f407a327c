// What clients see of a table and DuckLake does not hold, written and read.

#include <gtest/gtest.h>

#include "lakeproxy/ducklake/maintenance/upkeep.h"
#include "lakeproxy/ducklake/read/lake_reader.h"
#include "lakeproxy/from_iceberg/write/lake_writer.h"
#include "lakeproxy/from_iceberg/write/record_fixture_test.h"
#include "lakeproxy/iceberg/update/metadata_change.h"

namespace lake::ducklake {
namespace {

using base::json::Object;
using model::SnapshotId;

const model::TableIdentifier kTable{{{"main"}}, "t"};
using TablePtr = std::shared_ptr<const model::LakeTable>;

class OutOfSightTest : public RecordFixture {
 protected:
  void SetUp() override {
    open();
    model::CreateTable request{.name = "t"};
    request.schema.fields = {{.id = 1, .name = "i", .type = model::Type(model::TypeKind::kLong)}};
    request.spec =
        model::PartitionSpec{.fields = {{1, 1000, "i", {model::TransformKind::kIdentity}}}};
    auto made = model::new_table(
        request,
        {.uuid = base::make_uuid_v4(random_), .location = "s3://lake/data/main/t", .now_ms = 1});
    ASSERT_TRUE(made) << made.error().message();
    ASSERT_TRUE(run(writer().create_table(soon(), {kTable, std::move(*made), {}})));
  }

  LakeWriter writer() { return {*pool_, options_, clock_, random_}; }

  TablePtr load(const TablePtr& known = nullptr) {
    LakeReader reader(*pool_, options_);
    auto id = run(reader.find_table(soon(), kTable));
    EXPECT_TRUE(id) << id.error().message();
    auto table = run(reader.load_table(soon(), *id, known));
    EXPECT_TRUE(table) << table.error().message() << table.error().detail();
    return std::make_shared<const model::LakeTable>(std::move(*table));
  }

  Committed change(const TablePtr& before, model::TableMetadata after) {
    auto changed = run(writer().change_table(soon(), {before, std::move(after), {}}));
    EXPECT_TRUE(changed) << changed.error().message() << changed.error().detail();
    return changed ? *changed : Committed{};
  }

  std::string stored(const std::string& column) {
    return text("SELECT " + column + "::text FROM lk.lakeproxy_table");
  }

  /// A spec without fields that a client took away.
  void hide_spec() {
    exec(
        "INSERT INTO lakeproxy_definition SELECT table_id, 'spec', 1, '[]' FROM lakeproxy_table; "
        "UPDATE lakeproxy_table SET out_of_sight = '{\"specs\": {\"1\": 0}}'");
    EXPECT_FALSE(load()->metadata.shows_spec(1));
  }

  base::SystemClock clock_;
  base::SystemRandom random_;
};

TEST_F(OutOfSightTest, a_new_table_has_the_spec_that_was_asked_for_alone) {
  auto table = load();
  EXPECT_EQ(table->metadata.partition_specs.size(), 1u);
  EXPECT_TRUE(table->metadata.shows_spec(0));
  EXPECT_EQ(table->unpartitioned_spec_id, std::nullopt);
}

TEST_F(OutOfSightTest, what_changes_is_read_again_and_makes_no_snapshot) {
  auto before = load();
  model::TableMetadata after = before->metadata;
  after.out_of_sight.schemas = {3};
  after.out_of_sight.specs = {{1, 7}};
  after.out_of_sight.snapshots = {{SnapshotId(0), SnapshotId(1)}};
  after.statistics = {Object{{"snapshot-id", 1}, {"statistics-path", "s3://x"}}};
  after.partition_statistics = {Object{{"snapshot-id", 1}, {"statistics-path", "s3://y"}}};
  after.refs["main"].min_snapshots_to_keep = 5;
  EXPECT_TRUE(change(before, after).snapshots.empty());
  auto table = load();
  EXPECT_EQ(table->metadata.out_of_sight, after.out_of_sight);
  EXPECT_EQ(table->metadata.statistics, after.statistics);
  EXPECT_EQ(table->metadata.partition_statistics, after.partition_statistics);
  EXPECT_EQ(table->metadata.refs.at("main").min_snapshots_to_keep, 5);
  EXPECT_GT(table->version.revision, before->version.revision);
  EXPECT_EQ(table->version.snapshot, before->version.snapshot);
}

TEST_F(OutOfSightTest, another_change_leaves_it_as_it_is) {
  auto before = load();
  exec(R"(UPDATE lakeproxy_table SET out_of_sight = '{"specs": {}}')");
  model::TableMetadata after = before->metadata;
  after.properties["k"] = "v";
  (void)change(before, after);
  EXPECT_EQ(stored("out_of_sight"), R"({"specs": {}})") << "put into sight meanwhile";
}

TEST_F(OutOfSightTest, clients_are_told_not_to_delete_files_unless_somebody_says_so) {
  EXPECT_EQ(load()->metadata.properties.at("gc.enabled"), "false");
  for (const char* value : {"true", "false"}) {
    auto before = load();
    model::TableMetadata after = before->metadata;
    after.properties["gc.enabled"] = value;
    (void)change(before, after);
    EXPECT_EQ(load()->metadata.properties.at("gc.enabled"), value);
  }
  EXPECT_EQ(stored("(properties ? 'gc.enabled')"), "false") << "the default is not kept";
}

TEST_F(OutOfSightTest, a_statistics_file_is_no_orphan) {
  auto before = load();
  model::TableMetadata after = before->metadata;
  after.statistics = {Object{{"snapshot-id", 1}, {"statistics-path", "s3://lake/s"}}};
  after.partition_statistics = {Object{{"snapshot-id", 1}, {"statistics-path", "s3://lake/p"}}};
  (void)change(before, after);
  auto named = run(LakeUpkeep(*pool_, options_)
                       .named(soon(), {"s3://lake/s", "s3://lake/p", "s3://lake/nobody's"}));
  ASSERT_TRUE(named) << named.error().message() << named.error().detail();
  EXPECT_EQ(*named, (std::set<std::string>{"s3://lake/s", "s3://lake/p"}));
}

TEST_F(OutOfSightTest, a_publication_puts_a_spec_into_sight) {
  hide_spec();
  auto before = load();
  Published one = published(before->table_id);
  one.into_sight = {1, 9};
  EXPECT_TRUE(record(one));
  EXPECT_TRUE(load()->metadata.shows_spec(1));
  EXPECT_EQ(load()->metadata.out_of_sight, model::OutOfSight{});
}

TEST_F(OutOfSightTest, what_a_reader_knows_to_be_needed_stays_in_sight) {
  hide_spec();
  auto known = std::make_shared<model::LakeTable>(*load());
  known->metadata.out_of_sight.specs.clear();
  EXPECT_FALSE(load(known)->metadata.shows_spec(1)) << "nothing of it is used again";
  known->materialized.push_back(model::Snapshot{.snapshot_id = SnapshotId(1)});
  EXPECT_TRUE(load(known)->metadata.shows_spec(1));
}

TEST_F(OutOfSightTest, names_that_a_client_chose_are_the_lakes_when_read) {
  auto before = load();
  const auto newest = before->version.snapshot.value;
  exec("INSERT INTO lakeproxy_snapshot_alias VALUES (" + std::to_string(before->table_id.value) +
       ", 700, " + std::to_string(newest) + ")");
  model::TableMetadata after = before->metadata;
  after.refs["t"] = {.snapshot_id = SnapshotId(700), .type = model::RefType::kTag};
  after.statistics = {Object{{"snapshot-id", 700}}};
  (void)change(before, after);
  auto table = load();
  EXPECT_EQ(table->metadata.refs.at("t").snapshot_id, SnapshotId(newest));
  EXPECT_EQ(model::statistics_snapshot(table->metadata.statistics[0]), SnapshotId(newest));
}

}  // namespace
}  // namespace lake::ducklake
