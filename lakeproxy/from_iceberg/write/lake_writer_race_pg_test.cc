#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/runtime/gather.h"
#include "lakeproxy/ducklake/lake/reasons.h"
#include "lakeproxy/from_iceberg/write/writer_fixture_test.h"

namespace lake::ducklake {
namespace {

using base::ErrorKind;
using base::Result;
using base::Task;

class WriterRace : public WriterFixture {
 protected:
  Task<Result<int>> append_many(int writer_id, int commits);
  Task<Result<int>> foreign_many(int commits);
  Task<Result<Committed>> hold_next_snapshot();
  Task<Result<Committed>> commit_once_held(std::shared_ptr<const model::LakeTable> before);

  bool held_ = false;
};

TEST_F(WriterRace, nothing_is_built_on_a_commit_that_a_failover_lost) {
  make_table("t");
  auto added = append(load("t"), {{model::SnapshotId(5), {file("s3://lake/data/f", 1, 2)}, ""}});
  ASSERT_TRUE(added);
  auto known = load("t");
  EXPECT_EQ(added->version, known->version) << "as a reader finds it";
  Published one = published(known->table_id);
  one.read_at = known->version;
  one.metadata_sequence = 1;
  one.metadata_file = {5, "s3://lake/one.metadata.json"};
  exec(
      "UPDATE ducklake_snapshot SET snapshot_time = snapshot_time + interval '5 ms' WHERE "
      "snapshot_id = " +
      std::to_string(known->version.snapshot.value));
  auto done = append(known, {{model::SnapshotId(6), {file("s3://lake/data/g", 1, 2)}, ""}});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().reason(), kStale);
  auto gone = run(writer().unregister_table(soon(), {kMain, "t"}, known, ""));
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().reason(), kStale);
  EXPECT_FALSE(record(one));
  auto now = load("t");
  one.read_at = now->version;
  EXPECT_TRUE(record(one));
  EXPECT_TRUE(append(now, {{model::SnapshotId(6), {file("s3://lake/data/g", 1, 2)}, ""}}));
}

TEST_F(WriterRace, a_change_of_a_table_that_has_changed_is_stale) {
  make_table("t");
  make_table("u");
  auto before = load("t");
  ASSERT_NE(before, nullptr);
  std::vector<AddedSnapshot> one{{model::SnapshotId(5), {file("s3://lake/data/f", 1, 2)}, ""}};
  ASSERT_TRUE(append(load("u"), one)) << "another table does not matter";
  ASSERT_TRUE(append(before, one));
  const auto expect_stale = [&](const std::shared_ptr<const model::LakeTable>& read) {
    auto done = append(read, {{model::SnapshotId(6), {file("s3://lake/data/g", 1, 2)}, ""}});
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().kind(), ErrorKind::kConflict);
    EXPECT_EQ(done.error().reason(), kStale);
  };
  expect_stale(before);
  auto lake = writer();
  before = load("t");
  ASSERT_TRUE(run(lake.rename_table(soon(), {kMain, "t"}, {kMain, "x"})));
  expect_stale(before);
  ASSERT_TRUE(run(lake.rename_table(soon(), {kMain, "x"}, {kMain, "t"})));
  before = load("t");
  TableChange properties{before, before->metadata, {}};
  properties.after.properties["a"] = "b";
  auto changed = change(properties);
  ASSERT_TRUE(changed);
  EXPECT_TRUE(changed->snapshots.empty());
  expect_stale(before);
  before = load("t");
  ASSERT_TRUE(run(lake.drop_table(soon(), {kMain, "t"})));
  expect_stale(before);
}

// Holds the next snapshot id in an open transaction until another commit waits
// for it, then commits.
Task<Result<Committed>> WriterRace::hold_next_snapshot() {
  auto pool = make_pool();
  auto watcher = make_pool();
  CO_ASSIGN_OR_RETURN(
      auto held,
      co_await pool->begin(
          soon(),
          {{{"INSERT INTO lk.ducklake_snapshot SELECT 2, now(), schema_version, next_catalog_id, "
             "next_file_id FROM lk.ducklake_snapshot WHERE snapshot_id = 1"},
            {}},
           {{"INSERT INTO lk.ducklake_snapshot_changes VALUES (2, 'inserted_into_table:99')"},
            {}}}));
  held_ = true;
  for (bool waits = false; !waits;) {
    CO_ASSIGN_OR_RETURN(
        auto rows,
        co_await watcher->query(soon(), {{"SELECT count(*) FROM pg_locks WHERE NOT granted"}, {}}));
    waits = rows->int64(0, 0) > 0;
  }
  CO_RETURN_IF_ERROR(co_await held.transaction->run_and_commit({}));
  co_return Committed{};
}

Task<Result<Committed>> WriterRace::commit_once_held(
    std::shared_ptr<const model::LakeTable> before) {
  while (!held_) co_await boost::asio::post(loop_, boost::asio::use_awaitable);
  LakeWriter lake = writer();
  std::vector<AddedSnapshot> one{{model::SnapshotId(5), {file("s3://lake/data/f", 1, 2)}, ""}};
  co_return co_await lake.change_table(soon(),
                                       TableChange{before, before->metadata, std::move(one)});
}

TEST_F(WriterRace, takes_the_next_snapshot_when_another_writer_took_this_one) {
  make_table("t");
  std::vector<Task<Result<Committed>>> tasks;
  tasks.push_back(hold_next_snapshot());
  tasks.push_back(commit_once_held(load("t")));
  auto results = run(base::gather(std::move(tasks)));
  ASSERT_TRUE(results[0]) << results[0].error().detail();
  const auto& done = results[1];
  ASSERT_TRUE(done) << done.error().message() << done.error().detail();
  EXPECT_EQ(done->snapshots, std::vector{model::SnapshotId(3)});
  EXPECT_EQ(ask("SELECT begin_snapshot FROM @ducklake_data_file"), "3");
}

Task<Result<int>> WriterRace::append_many(int writer_id, int commits) {
  auto pool = make_pool();
  LakeWriter lake(*pool, options_, clock_, random_);
  LakeReader reader(*pool, options_);
  int stale = 0;
  for (int i = 0; i < commits;) {
    CO_ASSIGN_OR_RETURN(auto table, co_await reader.load_table(soon(), model::TableId(1)));
    auto before = std::make_shared<const model::LakeTable>(std::move(table));
    std::string path = fmt::format("s3://lake/data/main/t/w{}-{}", writer_id, i);
    std::vector<AddedSnapshot> one{
        {model::SnapshotId(writer_id * 1000 + i), {file(path, 1, 2)}, ""}};
    auto done =
        co_await lake.change_table(soon(), TableChange{before, before->metadata, std::move(one)});
    if (!done && done.error().reason() != kStale) co_return std::move(done).error();
    done ? ++i : ++stale;
  }
  co_return stale;
}

// As DuckDB commits: without our lock, again after a collision.
Task<Result<int>> WriterRace::foreign_many(int commits) {
  auto pool = make_pool();
  int collisions = 0;
  for (int i = 0; i < commits;) {
    auto done = co_await pool->query(
        soon(), {{"WITH made AS (INSERT INTO lk.ducklake_snapshot SELECT snapshot_id + 1, now(), "
                  "schema_version, next_catalog_id, next_file_id FROM lk.ducklake_snapshot ORDER "
                  "BY snapshot_id DESC LIMIT 1 RETURNING snapshot_id) INSERT INTO "
                  "lk.ducklake_snapshot_changes SELECT snapshot_id, 'inserted_into_table:99' FROM "
                  "made"},
                 {}});
    if (!done && done.error().kind() != ErrorKind::kConflict) co_return std::move(done).error();
    done ? ++i : ++collisions;
  }
  co_return collisions;
}

TEST_F(WriterRace, every_commit_of_several_writers_is_there_exactly_once) {
  constexpr int kWriters = 4, kCommits = 15, kForeign = 40;
  make_table("t");
  std::vector<Task<Result<int>>> tasks;
  for (int i = 1; i <= kWriters; ++i) tasks.push_back(append_many(i, kCommits));
  tasks.push_back(foreign_many(kForeign));
  auto results = run(base::gather(std::move(tasks)));
  for (const auto& result : results) {
    ASSERT_TRUE(result) << result.error().message() << result.error().detail();
  }
  EXPECT_EQ(ask("SELECT count(DISTINCT path) || ' of ' || count(*) FROM @ducklake_data_file"),
            fmt::format("{0} of {0}", kWriters * kCommits));
  EXPECT_EQ(ask("SELECT max(snapshot_id) || ' of ' || count(*) FROM @ducklake_snapshot"),
            fmt::format("{} of {}", kWriters * kCommits + kForeign + 1,
                        kWriters * kCommits + kForeign + 2));
  EXPECT_EQ(ask("SELECT count(*) FROM @ducklake_data_file a JOIN @ducklake_data_file b ON "
                "a.data_file_id < b.data_file_id AND a.row_id_start = b.row_id_start"),
            "0");
  EXPECT_EQ(ask("SELECT row(record_count, next_row_id) FROM @ducklake_table_stats"),
            fmt::format("({},{})", kWriters * kCommits * 101, kWriters * kCommits * 100));
  EXPECT_EQ(ask("SELECT next_file_id FROM @ducklake_snapshot ORDER BY snapshot_id DESC LIMIT 1"),
            std::to_string(kWriters * kCommits));
}

}  // namespace
}  // namespace lake::ducklake
