#include <set>

#include "base/core/clock.h"
#include "base/runtime/gather.h"
#include "lakeproxy/ducklake/commit/committer.h"
#include "lakeproxy/ducklake/lake/lake_fixture_test.h"

namespace lake::ducklake {
namespace {

using base::ErrorKind;
using base::Result;
using base::pg::Query;
using PreconditionRows = std::vector<base::pg::RowsPtr>;

class Commits : public LakeFixture {
 protected:
  void SetUp() override {
    open();
    // A busy machine must not decide who shares a transaction.
    committer_.emplace(*pool_, sql_, CommitWatch{}, GroupLimits{8, std::chrono::minutes(1)});
  }

  /// A commit that adds one snapshot, and what `queries` do.
  static Planner adds(std::vector<Query> queries = {}) {
    return [queries = std::move(queries)](const LakeHead&,
                                          const PreconditionRows&) -> Result<CommitPlan> {
      CommitPlan plan;
      plan.deltas.push_back({.queries = queries, .changes = {"inserted_into_table:1"}});
      return plan;
    };
  }
  static Planner refuses(model::SnapshotId when_on) {
    return [when_on](const LakeHead& head,
                     const PreconditionRows& preconditions) -> Result<CommitPlan> {
      if (head.snapshot == when_on) return base::fail(ErrorKind::kConflict, "not on this one");
      return adds()(head, preconditions);
    };
  }
  /// `planner`, with `first` done before its first call.
  static Planner after(std::function<void()> first, Planner planner) {
    auto done = std::make_shared<bool>(false);
    return [first, done, planner](const LakeHead& head, const PreconditionRows& preconditions) {
      if (!std::exchange(*done, true)) first();
      return planner(head, preconditions);
    };
  }
  /// All at once: they wait for the first of them.
  std::vector<Result<Committed>> commit(std::vector<Planner> planners) {
    std::vector<base::Task<Result<Committed>>> tasks;
    for (auto& planner : planners) {
      tasks.push_back(committer_->commit(soon(), {}, std::move(planner), std::nullopt));
    }
    return run(all(std::move(tasks))).value();
  }
  static base::Task<Result<std::vector<Result<Committed>>>> all(
      std::vector<base::Task<Result<Committed>>> tasks) {
    co_return co_await base::gather(std::move(tasks));
  }
  /// By another client, while our loop stands still.
  void elsewhere(const std::string& sql) {
    boost::asio::io_context loop;
    auto pool = make_pool();
    boost::asio::co_spawn(loop, pool->script(soon(), "SET search_path TO lk; " + sql),
                          [&](std::exception_ptr, Result<void> done) {
                            EXPECT_TRUE(done) << done.error().detail();
                            pool->close();
                          });
    loop.run();
  }
  void foreign_snapshot(std::int64_t id) {
    elsewhere(fmt::format(
        "BEGIN; INSERT INTO ducklake_snapshot VALUES ({0}, now(), 0, 100, 100); INSERT INTO "
        "ducklake_snapshot_changes VALUES ({0}, 'inserted_into_table:9', NULL, NULL, NULL); COMMIT",
        id));
  }
  std::string transactions() {
    return text(
        "SELECT count(DISTINCT xmin::text) FROM lk.ducklake_snapshot WHERE snapshot_id > 0");
  }
  std::string snapshots() {
    return text(
        "SELECT string_agg(snapshot_id::text, ',' ORDER BY snapshot_id) FROM "
        "lk.ducklake_snapshot WHERE snapshot_id > 0");
  }

  base::SystemRandom random_;
  SchemaSql sql_{options_.metadata_schema};
  std::optional<Committer> committer_;
};

TEST_F(Commits, that_wait_share_one_transaction_and_have_a_snapshot_each) {
  auto done = commit(std::vector<Planner>(8, adds()));
  std::set<std::int64_t> ids;
  for (std::size_t i = 0; i < done.size(); ++i) {
    ASSERT_TRUE(done[i]) << done[i].error().message() << done[i].error().detail();
    EXPECT_EQ(done[i]->head.snapshot.value, static_cast<std::int64_t>(i)) << "in their order";
    ASSERT_EQ(done[i]->commits.size(), 1U);
    EXPECT_GT(done[i]->commits[0].committed_ms, 0);
    ids.insert(done[i]->version.snapshot.value);
  }
  EXPECT_EQ(ids.size(), 8U);
  EXPECT_EQ(snapshots(), "1,2,3,4,5,6,7,8");
  EXPECT_EQ(transactions(), "1");
}

TEST_F(Commits, of_one_group_are_bounded) {
  for (auto& one : commit(std::vector<Planner>(20, adds()))) EXPECT_TRUE(one);
  EXPECT_EQ(transactions(), "3");
}

TEST_F(Commits, that_follow_each_other_stand_alone) {
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(commit({adds()}).front());
  EXPECT_EQ(transactions(), "3");
}

TEST_F(Commits, see_what_those_before_them_have_written) {
  auto counts = [](std::int64_t expected) -> Planner {
    return [expected](const LakeHead& head, const PreconditionRows& preconditions) {
      EXPECT_EQ(preconditions[0]->int64(0, 0), expected);
      return adds()(head, preconditions);
    };
  };
  std::vector<base::Task<Result<Committed>>> tasks;
  for (std::int64_t i = 0; i < 3; ++i) {
    std::vector<Query> preconditions{{sql_("SELECT count(*) FROM @ducklake_snapshot_changes"), {}}};
    tasks.push_back(
        committer_->commit(soon(), std::move(preconditions), counts(i + 1), std::nullopt));
  }
  for (auto& one : run(all(std::move(tasks))).value()) EXPECT_TRUE(one);
}

TEST_F(Commits, of_one_group_have_the_time_of_the_most_patient) {
  std::vector<base::Task<Result<Committed>>> tasks;
  base::RequestContext hasty = soon();
  hasty.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(400);
  tasks.push_back(committer_->commit(hasty, {}, adds(), std::nullopt));
  std::vector<Query> slow{{{"SELECT pg_sleep(0.6)"}, {}}};
  tasks.push_back(committer_->commit(soon(), std::move(slow), adds(), std::nullopt));
  for (auto& one : run(all(std::move(tasks))).value()) {
    EXPECT_TRUE(one) << one.error().message();
  }
  EXPECT_EQ(transactions(), "1");
}

TEST_F(Commits, are_refused_one_by_one) {
  auto done = commit({adds(), refuses(model::SnapshotId(1)), adds()});
  EXPECT_TRUE(done[0]);
  ASSERT_FALSE(done[1]);
  EXPECT_EQ(done[1].error().message(), "not on this one");
  EXPECT_TRUE(done[2]);
  EXPECT_EQ(snapshots(), "1,2");
}

TEST_F(Commits, whose_statement_fails_fail_alone) {
  auto done = commit(
      {adds(), adds({{{"SELECT 1 / $1::int"}, {base::pg::param(std::int64_t{0})}}}), adds()});
  EXPECT_TRUE(done[0]);
  ASSERT_FALSE(done[1]);
  EXPECT_EQ(done[1].error().kind(), ErrorKind::kInvalid);
  EXPECT_TRUE(done[2]);
  EXPECT_EQ(snapshots(), "1,2");
}

TEST_F(Commits, that_collide_with_another_writer_are_made_again) {
  auto done = commit({after([&] { foreign_snapshot(1); }, adds()), adds()});
  for (auto& one : done) EXPECT_TRUE(one);
  EXPECT_EQ(snapshots(), "1,2,3");
  EXPECT_EQ(done[1]->version.snapshot.value, 3);
}

// Between the version that it has read and what it writes in that form.
TEST_F(Commits, are_not_overtaken_by_a_migration) {
  bool waited = false;
  auto done = commit({after(
      [&] {
        boost::asio::io_context loop;
        auto pool = make_pool();
        boost::asio::co_spawn(
            loop,
            pool->script(soon(),
                         "SET search_path TO lk; SET lock_timeout = '100ms'; ALTER TABLE "
                         "ducklake_data_file ADD row_group_count bigint"),
            [&](std::exception_ptr, Result<void> altered) {
              waited = !altered;
              pool->close();
            });
        loop.run();
      },
      adds())});
  EXPECT_TRUE(done[0]);
  EXPECT_TRUE(waited);
}

TEST_F(Commits, know_the_format_that_the_lake_has_then) {
  std::vector<model::LakeFormat> seen;
  Planner notes = [&](const LakeHead& head, const PreconditionRows& preconditions) {
    seen.push_back(head.format);
    return adds()(head, preconditions);
  };
  exec("UPDATE ducklake_metadata SET value = '0.4' WHERE key = 'version'");
  EXPECT_TRUE(commit({notes})[0]);
  exec("UPDATE ducklake_metadata SET value = '1.1' WHERE key = 'version'");
  EXPECT_TRUE(commit({notes})[0]);
  EXPECT_EQ(seen, (std::vector{model::LakeFormat::k0_4, model::LakeFormat::k1_1}));
  exec("UPDATE ducklake_metadata SET value = '1.1-dev1' WHERE key = 'version'");
  auto refused = commit({notes});
  ASSERT_FALSE(refused[0]);
  EXPECT_EQ(refused[0].error().kind(), ErrorKind::kUnsupported);
  EXPECT_EQ(snapshots(), "1,2");
}

TEST_F(Commits, are_not_refused_for_what_was_undone) {
  // The second would be refused on our first snapshot 1, and another writer takes that.
  auto done = commit(
      {after([&] { foreign_snapshot(1); }, adds()),
       [](const LakeHead& head, const PreconditionRows& preconditions) -> Result<CommitPlan> {
         if (head.snapshot.value != 1) return adds()(head, preconditions);
         return base::fail(ErrorKind::kConflict, "told too early");
       }});
  EXPECT_TRUE(done[0]);
  EXPECT_TRUE(done[1]) << done[1].error().message();
  EXPECT_EQ(snapshots(), "1,2,3");
}

TEST_F(Commits, all_fail_with_the_connection_that_they_share) {
  auto end_sessions = [&] {
    elsewhere(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = "
        "current_database() AND pid <> pg_backend_pid()");
  };
  auto done = commit({adds(), after(end_sessions, adds()), adds()});
  EXPECT_FALSE(done[0]);
  EXPECT_FALSE(done[1]);
  for (auto& one : done) {
    if (!one) EXPECT_EQ(one.error().kind(), ErrorKind::kUnavailable) << "nothing was changed";
  }
  EXPECT_TRUE(commit({adds()}).front()) << "the next one finds a new connection";
}

TEST_F(Commits, under_one_key_are_made_once) {
  const model::IdempotencyKey key{.id = base::make_uuid_v4(random_), .request_hash = "h"};
  std::vector<base::Task<Result<Committed>>> tasks;
  for (int i = 0; i < 3; ++i) tasks.push_back(committer_->commit(soon(), {}, adds(), key));
  auto done = run(all(std::move(tasks))).value();
  EXPECT_TRUE(done[0]);
  for (std::size_t i : {1U, 2U}) {
    ASSERT_FALSE(done[i]);
    EXPECT_EQ(done[i].error().reason(), kAlreadyDone);
  }
  EXPECT_EQ(snapshots(), "1");
}

TEST_F(Commits, that_come_too_late_are_told_so_alone) {
  auto late = soon();
  late.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  std::vector<base::Task<Result<Committed>>> tasks;
  tasks.push_back(committer_->commit(late, {}, adds(), std::nullopt));
  tasks.push_back(committer_->commit(soon(), {}, adds(), std::nullopt));
  auto done = run(all(std::move(tasks))).value();
  ASSERT_FALSE(done[0]);
  EXPECT_EQ(done[0].error().kind(), ErrorKind::kTimeout);
  EXPECT_TRUE(done[1]);
}

TEST_F(Commits, of_others_that_lose_their_id_to_us_are_counted) {
  const std::string foreign_conflicts = "SELECT last_value FROM lk.lakeproxy_losses";
  auto lose = [&](int id) {
    auto lost = run(pool_->query(soon(), {{"INSERT INTO lk.ducklake_snapshot VALUES (" +
                                           std::to_string(id) + ", now(), 0, 1, 1)"},
                                          {}}));
    EXPECT_FALSE(lost);
  };
  foreign_snapshot(1);
  EXPECT_EQ(text(foreign_conflicts), "0");
  ASSERT_TRUE(commit({adds()}).front());
  lose(2);
  EXPECT_EQ(text(foreign_conflicts), "1");
}

TEST_F(Commits, of_others_that_lose_their_id_to_each_other_cost_us_nothing) {
  ASSERT_TRUE(commit({adds()}).front());
  foreign_snapshot(2);
  auto lost = run(
      pool_->query(soon(), {{"INSERT INTO lk.ducklake_snapshot VALUES (2, now(), 0, 1, 1)"}, {}}));
  ASSERT_FALSE(lost);
  EXPECT_EQ(text("SELECT last_value FROM lk.lakeproxy_losses"), "0");
}

TEST_F(Commits, are_refused_in_a_lake_that_was_migrated_under_them) {
  ASSERT_TRUE(commit({adds()}).front());
  run(pool_->query(soon(),
                   {{"UPDATE lk.ducklake_metadata SET value = '7.0' WHERE key = 'version'"}, {}}))
      .value();
  auto refused = std::move(commit({adds()}).front());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorKind::kUnsupported);
  EXPECT_NE(refused.error().message().find("'7.0'"), std::string::npos);
  EXPECT_EQ(snapshots(), "1");
}

}  // namespace
}  // namespace lake::ducklake
