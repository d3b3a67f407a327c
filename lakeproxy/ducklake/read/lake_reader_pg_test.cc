#include "lakeproxy/ducklake/read/reader_fixture_test.h"

namespace lake::ducklake {
namespace {

using model::LakeVersion;
using model::SnapshotId;
using model::TableId;

TEST_F(Reader, says_which_tables_changed) {
  make_table();
  auto lake = reader();
  const LakeVersion first = *run(lake.version(soon()));
  auto changed = [&](LakeVersion since) -> std::optional<Ids> {
    auto tables = run(lake.changed_since(soon(), since))->tables;
    if (!tables) return std::nullopt;
    Ids ids;
    for (const auto& [id, at] : *tables) ids.push_back(id.value);
    return ids;
  };
  EXPECT_EQ(changed(first), Ids{});
  snapshot(2, "inserted_into_table:7,deleted_from_table:5");
  EXPECT_EQ(changed(first), (Ids{5, 7}));
  // A rename by DuckDB names the table as created.
  snapshot(3, "created_table:\"main\".\"renamed\"",
           "UPDATE ducklake_table SET end_snapshot = 3; INSERT INTO ducklake_table VALUES (1, "
           "gen_random_uuid(), 3, NULL, 0, 'renamed', 't/', true)");
  EXPECT_EQ(changed(first), (Ids{1, 5, 7}));
  exec(
      "UPDATE lakeproxy_state SET revision = revision + 1; INSERT INTO lakeproxy_table (table_id, "
      "revision, updated_ms) SELECT 9, revision, 0 FROM lakeproxy_state");
  EXPECT_EQ(changed(first), (Ids{1, 5, 7, 9}));
  const LakeVersion second = *run(lake.version(soon()));
  EXPECT_EQ(changed(second), Ids{});
  snapshot(4, "something_new:1");
  EXPECT_EQ(changed(second), std::nullopt) << "an entry that is not understood";
  const LakeVersion third = *run(lake.version(soon()));
  exec("DELETE FROM ducklake_snapshot WHERE snapshot_id = 2");
  EXPECT_EQ(changed(third), std::nullopt) << "snapshots were removed";
  EXPECT_EQ(changed(*run(lake.version(soon()))), Ids{});
  EXPECT_EQ(changed({.snapshot = SnapshotId(99), .revision = 1}), std::nullopt);
}

TEST_F(Reader, gives_up_on_a_long_history) {
  exec(
      "INSERT INTO ducklake_snapshot SELECT n, now(), 0, 1, 0 FROM generate_series(1, 10001) n; "
      "INSERT INTO ducklake_snapshot_changes SELECT n, 'inserted_into_table:3' FROM "
      "generate_series(1, 10001) n");
  auto lake = reader();
  const auto since = [&](std::int64_t snapshot) {
    const std::string time =
        ask("SELECT floor(extract(epoch FROM snapshot_time) * 1000)::bigint "
            "FROM @ducklake_snapshot WHERE snapshot_id = " +
            std::to_string(snapshot));
    const LakeVersion version{SnapshotId(snapshot), 1, std::stoll(time),
                              run(lake.version(soon()))->format};
    return run(lake.changed_since(soon(), version))->tables;
  };
  EXPECT_FALSE(since(0));
  EXPECT_EQ(since(1),
            (std::map{std::pair{TableId(3), LakeVersion{.snapshot = SnapshotId(10001)}}}));
}

TEST_F(Reader, a_history_that_lost_commits_is_another_one) {
  make_table();
  snapshot(2, "inserted_into_table:1");
  auto lake = reader();
  const LakeVersion known = *run(lake.version(soon()));
  // A failover took snapshot 2 back, and somebody committed another one.
  exec(
      "UPDATE ducklake_snapshot SET snapshot_time = snapshot_time + interval '5 ms' WHERE "
      "snapshot_id = 2");
  const LakeVersion now = *run(lake.version(soon()));
  EXPECT_EQ(now.snapshot, known.snapshot);
  EXPECT_EQ(now.revision, known.revision);
  EXPECT_NE(now, known);
  snapshot(3, "inserted_into_table:1");
  auto lost = run(lake.changed_since(soon(), known));
  ASSERT_TRUE(lost);
  EXPECT_FALSE(lost->goes_on);
  EXPECT_FALSE(lost->tables);
  auto kept = run(lake.changed_since(soon(), now));
  ASSERT_TRUE(kept);
  EXPECT_TRUE(kept->goes_on);
  EXPECT_EQ(kept->tables->size(), 1U);
}

TEST_F(Reader, says_at_which_state_a_table_changed) {
  make_table();
  auto lake = reader();
  const LakeVersion since = *run(lake.version(soon()));
  snapshot(2, "inserted_into_table:7");
  snapshot(3, "inserted_into_table:5,deleted_from_table:7");
  snapshot(4, "inserted_into_table:5");
  exec(
      "UPDATE lakeproxy_state SET revision = revision + 1; INSERT INTO lakeproxy_table (table_id, "
      "revision, updated_ms) SELECT 7, revision, 0 FROM lakeproxy_state");
  const auto changed = *run(lake.changed_since(soon(), since))->tables;
  EXPECT_EQ(changed.at(TableId(5)), (LakeVersion{.snapshot = SnapshotId(4)}));
  EXPECT_EQ(changed.at(TableId(7)),
            (LakeVersion{.snapshot = SnapshotId(3), .revision = since.revision + 1}));
}

}  // namespace
}  // namespace lake::ducklake
