#include "lakeproxy/from_iceberg/commit/snapshot_base.h"

#include <gtest/gtest.h>

namespace lake::operation {
namespace {

using base::ErrorKind;
using model::Operation;
using model::SnapshotId;

/// Two snapshots, 5 and 6; clients know the older one as 500.
publish::LoadedTable two_snapshots() {
  publish::LoadedTable loaded;
  loaded.metadata.current_schema_id = 1;
  for (std::int64_t id : {5, 6}) {
    model::Snapshot snapshot;
    snapshot.snapshot_id = SnapshotId(id);
    snapshot.manifest_list = "list-" + std::to_string(id);
    loaded.metadata.snapshots.push_back(snapshot);
  }
  loaded.metadata.current_snapshot_id = SnapshotId(6);
  loaded.metadata.refs["main"] = {.snapshot_id = SnapshotId(6)};
  loaded.table.aliases = {{500, SnapshotId(5)}, {600, SnapshotId(6)}};
  return loaded;
}

model::Snapshot given(Operation operation, std::optional<std::int64_t> parent) {
  model::Snapshot snapshot;
  snapshot.snapshot_id = SnapshotId(700);
  if (parent) snapshot.parent_snapshot_id = SnapshotId(*parent);
  snapshot.operation = operation;
  snapshot.schema_id = 1;
  snapshot.manifest_list = "given";
  return snapshot;
}

model::TableCommit commit_of(model::Snapshot snapshot, std::optional<std::int64_t> main) {
  model::TableCommit commit;
  model::AssertRefSnapshotId at{"main", std::nullopt};
  if (main) at.snapshot_id = SnapshotId(*main);
  commit.requirements = {at};
  commit.updates = {model::AddSnapshot{snapshot},
                    model::SetSnapshotRef{"main", {.snapshot_id = snapshot.snapshot_id}}};
  return commit;
}

UpdatePlan plan_of(std::vector<model::Snapshot> snapshots) {
  UpdatePlan plan;
  plan.snapshots = std::move(snapshots);
  return plan;
}

base::Status check(const model::TableCommit& commit) {
  const auto loaded = two_snapshots();
  return check_requirements(loaded, commit, may_rebase(loaded.metadata, commit));
}

TEST(SnapshotBase, an_append_may_come_from_any_snapshot_that_main_was_at) {
  for (std::optional<std::int64_t> main : {std::optional<std::int64_t>(6), {5}, {500}, {}}) {
    EXPECT_TRUE(check(commit_of(given(Operation::kAppend, main), main))) << main.value_or(-1);
  }
  auto unknown = check(commit_of(given(Operation::kAppend, 4), 4));
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().kind(), ErrorKind::kConflict);
}

TEST(SnapshotBase, anything_else_must_come_from_the_current_one) {
  for (Operation operation : {Operation::kOverwrite, Operation::kDelete, Operation::kReplace}) {
    EXPECT_TRUE(check(commit_of(given(operation, 6), 6)));
    EXPECT_TRUE(check(commit_of(given(operation, 600), 600)));
    EXPECT_FALSE(check(commit_of(given(operation, 5), 5)));
  }
  auto other_schema = given(Operation::kAppend, 5);
  other_schema.schema_id = 0;
  EXPECT_FALSE(check(commit_of(other_schema, 5)));
  auto with_properties = commit_of(given(Operation::kAppend, 5), 5);
  with_properties.updates.emplace_back(model::SetProperties{});
  EXPECT_FALSE(check(with_properties));
  auto of_other_table = commit_of(given(Operation::kAppend, 5), 5);
  of_other_table.requirements.emplace_back(model::AssertTableUuid{base::Uuid{1}});
  EXPECT_FALSE(check(of_other_table));
}

TEST(SnapshotBase, a_list_is_compared_with_that_of_its_parent) {
  const auto loaded = two_snapshots();
  auto list = [&](Operation operation, std::optional<std::int64_t> parent) {
    return base_list(loaded, plan_of({given(operation, parent)}), 0);
  };
  EXPECT_EQ(list(Operation::kDelete, 6).value(), "list-6");
  EXPECT_EQ(list(Operation::kDelete, 600).value(), "list-6");
  EXPECT_EQ(list(Operation::kAppend, 500).value(), "list-5");
  EXPECT_EQ(list(Operation::kAppend, std::nullopt).value(), "");
  EXPECT_FALSE(list(Operation::kDelete, 5));
  EXPECT_FALSE(list(Operation::kDelete, std::nullopt));
  EXPECT_FALSE(list(Operation::kAppend, 4)) << "unknown";
  auto two = plan_of({given(Operation::kAppend, 6), given(Operation::kDelete, 700)});
  auto second = base_list(loaded, two, 1);
  EXPECT_EQ(second.value(), "given");
  EXPECT_EQ(base_list(loaded, two, 0).value(), "list-6");
  auto late = plan_of({given(Operation::kAppend, 5), given(Operation::kDelete, 700)});
  EXPECT_FALSE(base_list(loaded, late, 0)) << "the second may have decided by rows that changed";
  auto replaced = plan_of({given(Operation::kAppend, std::nullopt)});
  replaced.clears_main = true;
  EXPECT_EQ(base_list(loaded, replaced, 0).value(), "") << "nothing is left to compare with";
}

TEST(SnapshotBase, a_snapshot_is_added_once) {
  auto again = given(Operation::kAppend, 5);
  again.snapshot_id = SnapshotId(600);
  auto list = base_list(two_snapshots(), plan_of({again}), 0);
  ASSERT_FALSE(list);
  EXPECT_EQ(list.error().kind(), ErrorKind::kConflict);
}

}  // namespace
}  // namespace lake::operation
