#include "lakeproxy/from_iceberg/files/list_diff.h"

#include <gtest/gtest.h>

#include <limits>

namespace lake::operation {
namespace {

using base::ErrorKind;
using materialize::ListedManifest;
using model::EntryStatus;
using model::ManifestContent;
using model::ManifestEntry;
using model::SnapshotId;

constexpr SnapshotId kThis{77};

ManifestEntry entry(EntryStatus status, const char* path) {
  ManifestEntry made;
  made.status = status;
  made.data_file.file_path = path;
  return made;
}

ListedManifest manifest(std::vector<ManifestEntry> entries,
                        ManifestContent content = ManifestContent::kData) {
  ListedManifest listed;
  listed.manifest.content = content;
  for (auto& made : entries) {
    if (content == ManifestContent::kDeletes) {
      made.data_file.content = model::FileContent::kPositionDeletes;
    }
  }
  listed.entries = std::make_shared<const std::vector<ManifestEntry>>(std::move(entries));
  return listed;
}

std::vector<std::string> paths(const std::vector<ducklake::AddedFile>& files) {
  std::vector<std::string> result;
  for (const auto& file : files) result.push_back(file.file.file_path);
  return result;
}

using Paths = std::vector<std::string>;

TEST(ListDiff, manifests_of_one_list_alone_are_found_by_their_paths) {
  auto named = [](const char* path) {
    model::ManifestFile file;
    file.manifest_path = path;
    file.added_files_count = 2;
    file.existing_files_count = -1;
    return file;
  };
  ManifestSplit split = split_lists({named("a"), named("b")}, {named("b"), named("c")});
  ASSERT_EQ(split.new_manifests.size(), 1U);
  EXPECT_EQ(split.new_manifests[0].manifest_path, "c");
  ASSERT_EQ(split.removed_manifests.size(), 1U);
  EXPECT_EQ(split.removed_manifests[0].manifest_path, "a");
  EXPECT_EQ(count_entries(split.new_manifests), 2);
}

TEST(ListDiff, files_that_the_list_leaves_out_are_removed_said_or_unsaid) {
  auto diff = diff_lists(
      kThis,
      {manifest({entry(EntryStatus::kExisting, "stays"), entry(EntryStatus::kDeleted, "said")}),
       manifest({entry(EntryStatus::kAdded, "new")})},
      {manifest({entry(EntryStatus::kAdded, "stays"), entry(EntryStatus::kExisting, "said"),
                 entry(EntryStatus::kAdded, "unsaid"),
                 entry(EntryStatus::kDeleted, "long gone")})});
  ASSERT_TRUE(diff) << diff.error().message();
  EXPECT_EQ(paths(diff->added), Paths{"new"});
  EXPECT_EQ(diff->removed, (Paths{"said", "unsaid"}));
  EXPECT_TRUE(diff->added_deletes.empty() && diff->removed_deletes.empty());
}

TEST(ListDiff, a_path_that_stands_twice_is_removed_as_often_as_it_is_left_out) {
  auto twice = manifest({entry(EntryStatus::kAdded, "f"), entry(EntryStatus::kAdded, "f")});
  auto one = diff_lists(
      kThis, {manifest({entry(EntryStatus::kExisting, "f"), entry(EntryStatus::kDeleted, "f")})},
      {twice});
  ASSERT_TRUE(one) << one.error().message();
  EXPECT_EQ(one->removed, Paths{"f"});
  auto both = diff_lists(kThis, {}, {twice});
  ASSERT_TRUE(both);
  EXPECT_EQ(both->removed, (Paths{"f", "f"}));
  auto too_many =
      diff_lists(kThis,
                 {manifest({entry(EntryStatus::kExisting, "f"), entry(EntryStatus::kDeleted, "f"),
                            entry(EntryStatus::kDeleted, "f")})},
                 {twice});
  ASSERT_FALSE(too_many);
  EXPECT_EQ(too_many.error().kind(), ErrorKind::kConflict);
}

TEST(ListDiff, delete_files_stay_apart_and_vectors_of_one_object_too) {
  auto vector_at = [](EntryStatus status, std::int64_t offset) {
    ManifestEntry made = entry(status, "v.puffin");
    made.data_file.content_offset = offset;
    return made;
  };
  auto diff =
      diff_lists(kThis,
                 {manifest({vector_at(EntryStatus::kExisting, 4), entry(EntryStatus::kAdded, "d")},
                           ManifestContent::kDeletes)},
                 {manifest({vector_at(EntryStatus::kAdded, 4), vector_at(EntryStatus::kAdded, 90)},
                           ManifestContent::kDeletes)});
  ASSERT_TRUE(diff) << diff.error().message();
  EXPECT_TRUE(diff->added.empty() && diff->removed.empty());
  EXPECT_EQ(paths(diff->added_deletes), Paths{"d"});
  ASSERT_EQ(diff->removed_deletes.size(), 1U);
  EXPECT_EQ(diff->removed_deletes[0].file.content_offset, 90);
}

TEST(ListDiff, what_is_not_live_can_be_neither_existing_nor_deleted) {
  for (EntryStatus status : {EntryStatus::kExisting, EntryStatus::kDeleted}) {
    auto diff = diff_lists(kThis, {manifest({entry(status, "unknown")})}, {});
    ASSERT_FALSE(diff);
    EXPECT_EQ(diff.error().kind(), ErrorKind::kConflict);
    EXPECT_NE(diff.error().message().find("unknown"), std::string::npos);
  }
}

TEST(ListDiff, entries_of_earlier_snapshots_count_only_as_they_can) {
  ManifestEntry old = entry(EntryStatus::kDeleted, "gone before");
  old.snapshot_id = SnapshotId(5);
  EXPECT_TRUE(diff_lists(kThis, {manifest({old})}, {})) << "carried along";
  ManifestEntry added = entry(EntryStatus::kAdded, "f");
  added.snapshot_id = kThis;
  EXPECT_TRUE(diff_lists(kThis, {manifest({added})}, {}));
  added.snapshot_id = SnapshotId(5);
  auto foreign = diff_lists(kThis, {manifest({added})}, {});
  ASSERT_FALSE(foreign);
  EXPECT_EQ(foreign.error().kind(), ErrorKind::kConflict);
}

TEST(ListDiff, locations_that_are_no_text_are_refused) {
  for (std::string path : {std::string(), std::string("a\0b", 3), std::string("\xff")}) {
    ManifestEntry added = entry(EntryStatus::kAdded, "");
    added.data_file.file_path = path;
    auto diff = diff_lists(kThis, {manifest({added})}, {});
    ASSERT_FALSE(diff);
    EXPECT_EQ(diff.error().kind(), ErrorKind::kInvalid);
  }
}

TEST(ListDiff, a_manifest_must_be_what_its_list_says) {
  model::ManifestFile listed;
  listed.manifest_path = "m";
  listed.added_files_count = 1;
  listed.existing_files_count = 0;
  listed.deleted_files_count = -1;  // Left out by the list.
  model::ManifestHeader header;
  std::vector<ManifestEntry> entries{entry(EntryStatus::kAdded, "a"),
                                     entry(EntryStatus::kDeleted, "b")};
  EXPECT_TRUE(check_listed(listed, header, entries));
  auto with_more = entries;
  with_more.push_back(entry(EntryStatus::kAdded, "c"));
  EXPECT_FALSE(check_listed(listed, header, with_more)) << "counts";
  entries.back().data_file.record_count = 5;
  listed.deleted_rows_count = 5;
  EXPECT_TRUE(check_listed(listed, header, entries));
  listed.deleted_rows_count = 4;
  EXPECT_FALSE(check_listed(listed, header, entries)) << "rows";
  listed.deleted_rows_count = -1;
  EXPECT_TRUE(check_listed(listed, header, entries)) << "left out by the list";
  header.spec.spec_id = 3;
  EXPECT_FALSE(check_listed(listed, header, entries)) << "spec";
  header.spec.spec_id = 0;
  header.content = model::FileContent::kPositionDeletes;
  EXPECT_FALSE(check_listed(listed, header, entries)) << "content";
}

TEST(ListDiff, a_manifest_stands_in_a_list_once) {
  model::ManifestFile a, b;
  a.manifest_path = "a";
  b.manifest_path = "b";
  EXPECT_TRUE(check_once({a, b}));
  auto twice = check_once({a, b, a});
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().kind(), ErrorKind::kInvalid);
}

TEST(ListDiff, sizes_are_added_up_to_the_greatest_number) {
  model::ManifestFile a, b;
  a.manifest_length = 5;
  b.manifest_length = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(stored_bytes({a, a}), 10U);
  EXPECT_EQ(stored_bytes({a, b}), static_cast<std::size_t>(b.manifest_length));
}

TEST(ListDiff, an_entry_without_a_snapshot_has_that_of_its_manifest) {
  auto listed = manifest({entry(EntryStatus::kAdded, "f")});
  listed.manifest.added_snapshot_id = kThis;
  EXPECT_TRUE(diff_lists(kThis, {listed}, {}));
  listed.manifest.added_snapshot_id = SnapshotId{76};
  auto older = diff_lists(kThis, {listed}, {});
  ASSERT_FALSE(older);
  EXPECT_EQ(older.error().kind(), ErrorKind::kConflict);
}

TEST(ListDiff, rows_are_counted_up_to_the_greatest_number) {
  auto large = entry(EntryStatus::kAdded, "f");
  large.data_file.record_count = std::numeric_limits<std::int64_t>::max();
  auto diff = diff_lists(kThis, {manifest({large, large})}, {});
  ASSERT_TRUE(diff);
  EXPECT_EQ(diff->added_rows, std::numeric_limits<std::int64_t>::max());
  auto gone = entry(EntryStatus::kAdded, "g");
  gone.data_file.record_count = 7;
  diff = diff_lists(kThis, {}, {manifest({gone})});
  ASSERT_TRUE(diff);
  EXPECT_EQ(diff->removed_rows, 7);
}

TEST(ListDiff, a_summary_of_other_rows_is_refused) {
  ListDiff diff;
  diff.added_rows = 3;
  model::Snapshot given;
  for (auto [said, holds] : {std::pair("3", true), {"2", false}, {"03x", false}}) {
    given.summary["added-records"] = said;
    EXPECT_EQ(check_summary(given, diff).has_value(), holds) << said;
  }
}

TEST(ListDiff, a_summary_that_counts_otherwise_is_refused) {
  ListDiff diff;
  diff.removed = {"a", "b"};
  model::Snapshot given;
  EXPECT_TRUE(check_summary(given, diff)) << "says nothing";
  given.summary["deleted-data-files"] = "2";
  EXPECT_TRUE(check_summary(given, diff));
  for (const char* wrong : {"1", "-2", "two"}) {
    given.summary["deleted-data-files"] = wrong;
    auto checked = check_summary(given, diff);
    ASSERT_FALSE(checked) << wrong;
    EXPECT_EQ(checked.error().kind(), ErrorKind::kInvalid);
  }
}

TEST(ListDiff, deletes_that_are_replaced_need_not_be_counted_and_others_must) {
  ListDiff diff;
  auto& removed = diff.removed_deletes.emplace_back();
  model::Snapshot given;
  given.summary["removed-delete-files"] = "0";
  EXPECT_FALSE(check_summary(given, diff)) << "of no data file";
  removed.file.referenced_data_file = "f";
  EXPECT_FALSE(check_summary(given, diff)) << "nothing in its place";
  auto& added = diff.added_deletes.emplace_back();
  added.file.referenced_data_file = "g";
  EXPECT_FALSE(check_summary(given, diff)) << "of another data file";
  added.file.referenced_data_file = "f";
  EXPECT_TRUE(check_summary(given, diff));
  given.summary["removed-delete-files"] = "2";
  EXPECT_FALSE(check_summary(given, diff)) << "counted wrongly";
  given.summary["removed-delete-files"] = "0";
  diff.removed_deletes.emplace_back();
  EXPECT_FALSE(check_summary(given, diff)) << "one of two";
  diff.removed_deletes.back().file.referenced_data_file = "gone";
  diff.removed = {"gone"};
  EXPECT_TRUE(check_summary(given, diff));
}

}  // namespace
}  // namespace lake::operation
