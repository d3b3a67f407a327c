#include "lakeproxy/ducklake/lake/lake_fixture_test.h"
#include "lakeproxy/ducklake/lake/reasons.h"
#include "lakeproxy/ducklake/read/lake_reader.h"
#include "lakeproxy/from_iceberg/write/lake_writer.h"
#include "lakeproxy/iceberg/update/metadata_change.h"

namespace lake::ducklake {
namespace {

using base::ErrorKind;
using model::Namespace;
using model::SnapshotId;

const Namespace kMain{{"main"}};

// Drops, returns, moves, and several tables in one commit.
class TableLife : public LakeFixture {
 protected:
  void SetUp() override {
    open();
    make_table("t");
    make_table("u");
  }

  LakeWriter writer() { return {*pool_, options_, clock_, random_}; }
  NewTable new_table(const std::string& name) {
    model::CreateTable request{.name = name};
    request.schema.fields = {{.id = 1, .name = "i", .type = model::Type(model::TypeKind::kLong)}};
    auto made = model::new_table(request, {.uuid = base::make_uuid_v4(random_),
                                           .location = "s3://lake/data/main/" + name,
                                           .now_ms = 1});
    EXPECT_TRUE(made);
    return {{kMain, name}, std::move(*made), {}};
  }
  void make_table(const std::string& name) {
    ASSERT_TRUE(run(writer().create_table(soon(), new_table(name))));
  }
  std::shared_ptr<const model::LakeTable> load(const std::string& name, Namespace in = kMain) {
    LakeReader reader(*pool_, options_);
    auto id = run(reader.find_table(soon(), {std::move(in), name}));
    if (!id) return nullptr;
    auto table = run(reader.load_table(soon(), *id));
    EXPECT_TRUE(table) << table.error().detail();
    return std::make_shared<const model::LakeTable>(std::move(*table));
  }
  TableChange append(const std::string& name, std::int64_t client_id) {
    auto before = load(name);
    AddedFile file;
    file.file.file_path = before->metadata.location + "/" + std::to_string(client_id) + ".parquet";
    file.file.record_count = 1;
    file.file.file_size_in_bytes = 10;
    return {before, before->metadata, {{SnapshotId(client_id), {file}, "{}"}}};
  }
  std::string live_files() {
    return text("SELECT count(*) FROM lk.ducklake_data_file WHERE end_snapshot IS NULL");
  }
  std::string newest() { return text("SELECT max(snapshot_id) FROM lk.ducklake_snapshot"); }

  base::SystemClock clock_;
  base::SystemRandom random_;
};

TEST_F(TableLife, a_dropped_table_comes_back_with_its_files_and_its_history) {
  ASSERT_TRUE(run(writer().change_table(soon(), append("t", 700))));
  auto before = load("t");
  ASSERT_TRUE(run(writer().drop_table(soon(), {kMain, "t"})));
  EXPECT_EQ(live_files(), "0");
  auto restored = run(writer().restore_table(soon(), {before->table_id, {kMain, "t"}}));
  ASSERT_TRUE(restored) << restored.error().message() << restored.error().detail();
  EXPECT_EQ(live_files(), "1");
  auto after = load("t");
  ASSERT_NE(after, nullptr);
  EXPECT_EQ(after->table_id, before->table_id);
  EXPECT_EQ(after->pending, before->pending) << "neither drop nor return is a change of rows";
  EXPECT_EQ(after->metadata.schemas, before->metadata.schemas);
  EXPECT_EQ(after->metadata.table_uuid, before->metadata.table_uuid);
  EXPECT_EQ(after->created, before->created);
  EXPECT_EQ(text("SELECT count(*) FROM lk.ducklake_table WHERE table_id = " +
                 std::to_string(before->table_id.value) +
                 " AND begin_snapshot <= 4 AND (end_snapshot IS NULL OR end_snapshot > 4)"),
            "0")
      << "at the snapshot of its drop there is no table";
  ASSERT_TRUE(run(writer().change_table(soon(), append("t", 701))));
}

TEST_F(TableLife, a_table_that_cannot_come_back_is_refused) {
  auto table = load("t");
  auto there = run(writer().restore_table(soon(), {table->table_id, {kMain, "x"}}));
  EXPECT_EQ(there.error().kind(), ErrorKind::kAlreadyExists);
  ASSERT_TRUE(run(writer().drop_table(soon(), {kMain, "t"})));
  auto taken = run(writer().restore_table(soon(), {table->table_id, {kMain, "u"}}));
  EXPECT_EQ(taken.error().kind(), ErrorKind::kAlreadyExists);
  auto nowhere = run(writer().restore_table(soon(), {table->table_id, {Namespace{{"no"}}, "t"}}));
  EXPECT_EQ(nowhere.error().reason(), kNoSuchNamespace);
  auto unknown = run(writer().restore_table(soon(), {model::TableId(999), {kMain, "t"}}));
  EXPECT_EQ(unknown.error().reason(), kNoSuchTable);
  exec("DELETE FROM ducklake_snapshot WHERE snapshot_id = 2");
  auto expired = run(writer().restore_table(soon(), {table->table_id, {kMain, "t"}}));
  EXPECT_EQ(expired.error().kind(), ErrorKind::kConflict);
}

TEST_F(TableLife, a_table_whose_files_go_cannot_come_back) {
  auto table = load("t");
  ASSERT_TRUE(run(writer().drop_table(soon(), {kMain, "t"}, Files::kGo)));
  auto restored = run(writer().restore_table(soon(), {table->table_id, {kMain, "t"}}));
  ASSERT_FALSE(restored);
  EXPECT_EQ(restored.error().kind(), ErrorKind::kConflict);
  auto taken = run(writer().is_location_taken(soon(), table->metadata.location, std::nullopt));
  ASSERT_TRUE(taken);
  EXPECT_TRUE(*taken);
}

TEST_F(TableLife, a_table_that_comes_back_may_take_the_place_of_another) {
  auto table = load("t");
  ASSERT_TRUE(run(writer().drop_table(soon(), {kMain, "t"})));
  ASSERT_TRUE(
      run(writer().restore_table(soon(), {table->table_id, {kMain, "u"}, Existing::kReplaced})));
  EXPECT_EQ(load("u")->table_id, table->table_id);
  EXPECT_EQ(load("t"), nullptr);
  EXPECT_EQ(newest(), "5") << "a drop and a return";
}

TEST_F(TableLife, a_new_table_may_take_the_place_of_another) {
  auto before = load("u");
  NewTable table = new_table("u");
  table.existing = Existing::kReplaced;
  ASSERT_TRUE(run(writer().create_table(soon(), std::move(table))));
  EXPECT_NE(load("u")->table_id, before->table_id);
  EXPECT_FALSE(run(writer().create_table(soon(), new_table("u"))));
}

TEST_F(TableLife, a_moved_table_keeps_its_place_and_its_id) {
  ASSERT_TRUE(run(writer().create_namespace(soon(), Namespace{{"s"}}, {})));
  auto before = load("t");
  auto moved = run(writer().rename_table(soon(), {kMain, "t"}, {Namespace{{"s"}}, "v"}));
  ASSERT_TRUE(moved) << moved.error().message() << moved.error().detail();
  auto after = load("v", Namespace{{"s"}});
  ASSERT_NE(after, nullptr);
  EXPECT_EQ(after->table_id, before->table_id);
  EXPECT_EQ(after->metadata.location, before->metadata.location);
  ASSERT_TRUE(run(writer().rename_table(soon(), {Namespace{{"s"}}, "v"}, {kMain, "t"})));
  EXPECT_EQ(load("t")->metadata.location, before->metadata.location);
}

TEST_F(TableLife, unregistering_loses_no_commit) {
  auto before = load("t");
  ASSERT_TRUE(run(writer().change_table(soon(), append("t", 700))));
  auto stale = run(writer().unregister_table(soon(), {kMain, "t"}, before, ""));
  EXPECT_EQ(stale.error().reason(), kStale);
  ASSERT_TRUE(run(writer().change_table(soon(), append("u", 701)))) << "another table";
  ASSERT_TRUE(run(writer().unregister_table(soon(), {kMain, "t"}, load("t"), "")));
  EXPECT_EQ(load("t"), nullptr);
}

TEST_F(TableLife, several_tables_change_in_one_commit_each_with_its_snapshot) {
  std::vector<TableCommitPart> parts;
  parts.emplace_back(append("t", 700));
  parts.emplace_back(new_table("w"));
  parts.emplace_back(append("u", 701));
  auto committed = run(writer().commit_parts(soon(), std::move(parts)));
  ASSERT_TRUE(committed) << committed.error().message() << committed.error().detail();
  EXPECT_EQ(committed->snapshots,
            (std::vector<SnapshotId>{SnapshotId(3), SnapshotId(4), SnapshotId(5)}));
  EXPECT_EQ(load("t")->aliases.at(700), SnapshotId(3));
  EXPECT_EQ(load("u")->aliases.at(701), SnapshotId(5));
  EXPECT_NE(load("w"), nullptr);
  EXPECT_EQ(text("SELECT count(DISTINCT data_file_id) FROM lk.ducklake_data_file"), "2");
}

TEST_F(TableLife, one_part_that_does_not_hold_undoes_all) {
  ASSERT_TRUE(run(writer().change_table(soon(), append("u", 701))));
  std::vector<TableCommitPart> parts;
  parts.emplace_back(append("t", 702));
  parts.emplace_back(new_table("t"));
  auto taken = run(writer().commit_parts(soon(), std::move(parts)));
  EXPECT_EQ(taken.error().kind(), ErrorKind::kAlreadyExists);
  EXPECT_EQ(newest(), "3");
  EXPECT_TRUE(load("t")->aliases.empty());
}

}  // namespace
}  // namespace lake::ducklake
