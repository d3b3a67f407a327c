#include "lakeproxy/to_iceberg/snapshot/snapshot_builder.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "lakeproxy/to_iceberg/snapshot/snapshot_chain.h"

namespace lake::materialize {
namespace {

using model::EntryStatus;
using model::SnapshotId;

SnapshotChange append(std::int64_t snapshot, int files = 1) {
  SnapshotChange change = change_of(snapshot);
  for (int i = 0; i < files; ++i) {
    change.added_data.push_back(plain_view(fmt::format("f{}.{}", snapshot, i)));
  }
  return change;
}

SnapshotChange removal(std::int64_t snapshot, std::vector<std::string> paths) {
  SnapshotChange change = change_of(snapshot);
  change.removed_data = std::move(paths);
  return change;
}

const SeenEntry* find(const std::vector<SeenEntry>& seen, const std::string& path) {
  for (const SeenEntry& entry : seen) {
    if (entry.entry.data_file.file_path == path) return &entry;
  }
  return nullptr;
}

TEST(SnapshotBuilder, merges_manifests_when_a_tier_is_full) {
  struct Case {
    int before;
    std::size_t after;  ///< Manifests after one more append.
  } cases[] = {{0, 1}, {30, 31}, {31, 32}, {32, 2}, {33, 3}};
  for (const Case& c : cases) {
    SnapshotChain chain;
    for (int i = 1; i <= c.before; ++i) chain.apply(append(i));
    chain.apply(append(c.before + 1));
    EXPECT_EQ(chain.list.size(), c.after) << c.before;
    EXPECT_EQ(chain.read(chain.snapshots.back()).size(), static_cast<std::size_t>(c.before) + 1);
  }
}

TEST(SnapshotBuilder, a_thousand_appends_make_few_manifests) {
  SnapshotChain chain;
  std::size_t most = 0;
  for (int i = 1; i <= 1100; ++i) {
    chain.apply(append(i));
    most = std::max(most, chain.list.size());
  }
  EXPECT_LT(most, 70U);
  std::set<std::string> paths;
  for (const auto& seen : chain.read(chain.snapshots.back())) {
    paths.insert(seen.entry.data_file.file_path);
    EXPECT_EQ(fmt::format("f{}.0", seen.entry.snapshot_id->value), seen.entry.data_file.file_path);
    EXPECT_EQ(seen.entry.sequence_number, seen.entry.snapshot_id->value);
    EXPECT_EQ(seen.entry.file_sequence_number, seen.entry.snapshot_id->value);
  }
  EXPECT_EQ(paths.size(), 1100U);
  EXPECT_EQ(chain.snapshots.back().summary.at("total-data-files"), "1100");
}

TEST(SnapshotBuilder, reads_no_manifest_for_an_append) {
  SnapshotChain chain;
  for (int i = 1; i <= 20; ++i) chain.apply(append(i));
  chain.forget();
  EXPECT_TRUE(manifests_to_read(chain.context(), chain.list, append(21)).empty());
  auto built = chain.apply(append(21));
  EXPECT_EQ(built.objects.size(), 2U) << "one manifest and the list";
}

TEST(SnapshotBuilder, reads_delete_manifests_only_to_find_a_delete_file) {
  SnapshotChain chain;
  auto first = append(1);
  first.added_deletes = {delete_view("d1", "f1.0")};
  chain.apply(first);
  chain.forget();
  auto other = change_of(2);
  other.added_deletes = {delete_view("d2", "f1.1")};
  EXPECT_TRUE(manifests_to_read(chain.context(), chain.list, other).empty());
  other.superseded_deletes = {"f1.0"};
  ASSERT_EQ(manifests_to_read(chain.context(), chain.list, other).size(), 1U);
}

// Two files under the partition of an int that is a double from schema 1 on.
SnapshotChain with_changed_column(model::Transform transform) {
  SnapshotChain chain;
  chain.table = sample_lake(model::Type(model::TypeKind::kInt), std::move(transform));
  auto first = change_of(1);
  for (const char* path : {"a", "b"}) {
    FileView view = plain_view(path, 1);
    view.file.partition = {model::Literal(std::int32_t{2})};
    first.added_data.push_back(std::move(view));
  }
  chain.apply(first);
  EXPECT_EQ(chain.list.front().manifest.partition_spec_id, 1);
  auto& schemas = chain.table.metadata.schemas;
  schemas.push_back({.schema_id = 1, .fields = schemas.front().fields});
  schemas.back().fields.front().type = model::Type(model::TypeKind::kDouble);
  chain.table.metadata.current_schema_id = 1;
  chain.forget();
  return chain;
}

SnapshotChain with_outgrown_spec() {
  return with_changed_column({model::TransformKind::kBucket, 3, {}});
}

TEST(SnapshotBuilder, values_of_a_column_that_changed_its_type_stand_in_no_manifest_any_more) {
  SnapshotChain chain = with_changed_column({model::TransformKind::kIdentity, 0, {}});
  auto change = removal(2, {"a"});
  change.schema_id = 1;
  FileView copy = plain_view("a-copy", 1);
  copy.file.partition = {model::Literal(2.0)};
  change.added_data = {copy};
  chain.apply(change);
  auto seen = chain.read(chain.snapshots.back());
  ASSERT_EQ(seen.size(), 2U) << "what is gone stands in no manifest";
  ASSERT_NE(find(seen, "a-copy"), nullptr);
  EXPECT_EQ(find(seen, "a-copy")->manifest.partition_spec_id, 1);
  EXPECT_EQ(find(seen, "a-copy")->entry.data_file.partition,
            (model::PartitionTuple{model::Literal(2.0)}));
  ASSERT_NE(find(seen, "b"), nullptr);
  EXPECT_EQ(find(seen, "b")->manifest.partition_spec_id, 0);
  EXPECT_TRUE(find(seen, "b")->entry.data_file.partition.empty());
  // From then on the spec's manifests hold values of now, and stay.
  auto next = removal(3, {"a-copy"});
  next.schema_id = 1;
  chain.apply(next);
  seen = chain.read(chain.snapshots.back());
  ASSERT_NE(find(seen, "a-copy"), nullptr);
  EXPECT_EQ(find(seen, "a-copy")->entry.status, EntryStatus::kDeleted);
}

TEST(SnapshotBuilder, files_of_a_spec_that_a_column_has_outgrown_have_no_partition_any_more) {
  SnapshotChain chain = with_outgrown_spec();
  auto change = removal(2, {"a"});
  change.schema_id = 1;
  FileView copy = plain_view("a-copy", 1);
  copy.file.partition = {model::Literal(std::int32_t{2})};
  change.added_data = {copy};
  auto built = chain.apply(change);
  for (const ListedManifest& listed : chain.list) {
    EXPECT_EQ(listed.manifest.partition_spec_id, 0);
  }
  auto seen = chain.read(chain.snapshots.back());
  ASSERT_EQ(seen.size(), 2U) << "what is gone stands in no manifest";
  for (const auto& [entry, manifest] : seen) EXPECT_TRUE(entry.data_file.partition.empty());
  ASSERT_NE(find(seen, "b"), nullptr);
  EXPECT_EQ(find(seen, "b")->entry.status, EntryStatus::kExisting);
  EXPECT_EQ(find(seen, "b")->entry.sequence_number, 1);
  EXPECT_EQ(find(seen, "a-copy")->entry.status, EntryStatus::kAdded);
  EXPECT_EQ(built.snapshot.summary.at("deleted-data-files"), "1");
  EXPECT_EQ(built.snapshot.summary.at("total-data-files"), "2");
}

TEST(SnapshotBuilder, a_snapshot_from_before_that_keeps_its_spec) {
  SnapshotChain chain = with_outgrown_spec();
  chain.apply(removal(2, {"a"}));
  ASSERT_EQ(chain.list.size(), 1U);
  EXPECT_EQ(chain.list.front().manifest.partition_spec_id, 1);
  EXPECT_EQ(chain.read(chain.snapshots.back()).size(), 2U);
}

TEST(SnapshotBuilder, a_deleted_entry_stands_in_its_own_snapshot_only) {
  SnapshotChain chain;
  chain.apply(append(1, 3));
  chain.forget();
  chain.apply(removal(2, {"f1.1"}));
  auto at_2 = chain.read(chain.snapshots.back());
  ASSERT_EQ(at_2.size(), 3U);
  const SeenEntry* gone = find(at_2, "f1.1");
  ASSERT_NE(gone, nullptr);
  EXPECT_EQ(gone->entry.status, EntryStatus::kDeleted);
  EXPECT_EQ(gone->entry.snapshot_id, SnapshotId(2));
  EXPECT_EQ(gone->entry.sequence_number, 1);
  EXPECT_EQ(gone->entry.file_sequence_number, 1);
  const SeenEntry* kept = find(at_2, "f1.0");
  ASSERT_NE(kept, nullptr);
  EXPECT_EQ(kept->entry.status, EntryStatus::kExisting);
  EXPECT_EQ(kept->entry.snapshot_id, SnapshotId(1));
  EXPECT_EQ(kept->entry.sequence_number, 1);
  EXPECT_EQ(kept->manifest.sequence_number, 2);
  EXPECT_EQ(kept->manifest.min_sequence_number, 1);

  chain.apply(removal(3, {"f1.0"}));
  auto at_3 = chain.read(chain.snapshots.back());
  EXPECT_EQ(find(at_3, "f1.1"), nullptr);
  chain.apply(removal(4, {"f1.2"}));
  EXPECT_EQ(chain.list.size(), 1U) << "kept for its deleted entry";
  chain.apply(append(5));
  EXPECT_EQ(chain.list.size(), 1U) << "a manifest without live files goes";
}

TEST(SnapshotBuilder, merging_loses_no_deleted_entry_of_the_snapshot) {
  SnapshotChain chain;
  for (int i = 1; i <= 40; ++i) {
    auto change = append(i, 2);
    if (i == 32) change.removed_data = {"f31.0", "f3.1"};
    if (i == 33) change.removed_data = {"f29.1", "f30.0"};
    auto built = chain.apply(change);
    std::set<std::string> gone;
    for (const auto& seen : chain.read(chain.snapshots.back())) {
      if (seen.entry.status == EntryStatus::kDeleted && seen.entry.snapshot_id == SnapshotId(i)) {
        gone.insert(seen.entry.data_file.file_path);
      }
    }
    EXPECT_EQ(gone, std::set(change.removed_data.begin(), change.removed_data.end())) << i;
    std::set<std::string> listed;
    for (const auto& manifest : built.list) listed.insert(manifest.manifest.manifest_path);
    for (std::size_t n = 0; n + 1 < built.objects.size(); ++n) {
      EXPECT_TRUE(listed.contains(built.objects[n].location)) << "written for nothing";
    }
  }
}

TEST(SnapshotBuilder, removes_one_of_two_entries_with_the_same_path) {
  SnapshotChain chain;
  auto twice = append(1);
  twice.added_data.push_back(twice.added_data[0]);
  chain.apply(twice);
  chain.apply(removal(2, {"f1.0"}));
  EXPECT_EQ(chain.snapshots.back().summary.at("total-data-files"), "1");
  chain.apply(removal(3, {"f1.0"}));
  EXPECT_EQ(chain.snapshots.back().summary.at("total-data-files"), "0");
}

TEST(SnapshotBuilder, refuses_to_remove_what_is_not_there) {
  SnapshotChain chain;
  chain.apply(append(1));
  for (std::vector<std::string> paths : {std::vector<std::string>{"other"}, {"f1.0", "f1.0"}}) {
    auto built = chain.try_apply(removal(2, paths));
    ASSERT_FALSE(built);
    EXPECT_EQ(built.error().kind(), base::ErrorKind::kCorrupt);
  }
  auto unknown = change_of(2);
  unknown.added_data = {plain_view("f", 9)};
  auto built = chain.try_apply(unknown);
  ASSERT_FALSE(built);
  EXPECT_EQ(built.error().kind(), base::ErrorKind::kCorrupt);
}

TEST(SnapshotBuilder, the_same_input_gives_the_same_bytes) {
  auto all = [] {
    SnapshotChain chain;
    for (int i = 1; i <= 40; ++i) chain.apply(append(i, 2));
    chain.apply(removal(41, {"f7.1"}));
    return chain.objects;
  };
  EXPECT_EQ(all(), all());
}

struct Evolution {
  const char* name;
  model::Type then;
  std::vector<model::Field> now;
  model::Literal written;
  model::Literal carried;
};

TEST(SnapshotBuilder, a_manifest_survives_a_change_of_its_partition_column) {
  using model::Type;
  using model::TypeKind;
  const model::Field other{.id = 2, .name = "w", .type = Type(TypeKind::kInt)};
  auto v = [](TypeKind kind) { return model::Field{.id = 1, .name = "v", .type = Type(kind)}; };
  const Evolution cases[] = {
      {"dropped", Type(TypeKind::kInt), {other}, std::int32_t{4}, std::int32_t{4}},
      {"int_to_long", Type(TypeKind::kInt), {v(TypeKind::kLong)}, std::int32_t{4}, std::int64_t{4}},
      {"float_to_double", Type(TypeKind::kFloat), {v(TypeKind::kDouble)}, 0.1F, double{0.1F}},
      {"long_told_by_a_client",
       Type(TypeKind::kInt),
       {v(TypeKind::kLong)},
       std::int64_t{4},
       std::int64_t{4}},
  };
  for (const Evolution& c : cases) {
    SCOPED_TRACE(c.name);
    SnapshotChain chain;
    chain.table = sample_lake(c.then);
    auto change = append(1, 2);
    for (FileView& view : change.added_data) {
      view.spec_id = 1;
      view.file.partition = {c.written};
    }
    chain.apply(change);
    chain.table.metadata.schemas.push_back({.schema_id = 1, .fields = c.now});
    chain.forget();
    auto second = removal(2, {"f1.0"});
    second.schema_id = 1;
    chain.apply(second);
    auto seen = chain.read(chain.snapshots.back());
    const SeenEntry* kept = find(seen, "f1.1");
    ASSERT_NE(kept, nullptr);
    EXPECT_TRUE(kept->entry.data_file.partition[0] == c.carried);
  }
}

// A table whose whole history is built after the column was widened.
TEST(SnapshotBuilder, an_old_snapshot_is_built_with_values_of_the_newest_type) {
  SnapshotChain chain;
  chain.table = sample_lake(model::Type(model::TypeKind::kInt));
  chain.table.metadata.schemas.push_back(
      {.schema_id = 1,
       .fields = {{.id = 1, .name = "v", .type = model::Type(model::TypeKind::kLong)}}});
  auto change = append(1);
  change.added_data[0].spec_id = 1;
  change.added_data[0].file.partition = {model::Literal(std::int64_t{5'000'000'000})};
  chain.apply(change);
  EXPECT_EQ(chain.snapshots.back().schema_id, 0);
}

}  // namespace
}  // namespace lake::materialize
