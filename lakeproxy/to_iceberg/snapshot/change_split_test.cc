#include "lakeproxy/to_iceberg/snapshot/change_split.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "lakeproxy/to_iceberg/snapshot/sample_lake.h"

namespace lake::materialize {
namespace {

using model::DataFileId;
using model::LakeChanges;
using model::SnapshotId;

model::LakeDeleteFile delete_file(std::int64_t id, std::int64_t file, std::int64_t begin,
                                  std::optional<SnapshotId> end = std::nullopt) {
  return {.id = id, .data_file_id = DataFileId(file), .begin = SnapshotId(begin), .end = end};
}

model::LakeInlinedDelete inlined_delete(std::int64_t file, std::int64_t row, std::int64_t begin) {
  return {.data_file_id = DataFileId(file), .row_id = row, .begin = SnapshotId(begin)};
}

model::LakeInlinedRow row(std::int64_t id, std::int64_t begin,
                          std::optional<SnapshotId> end = std::nullopt) {
  return {.row_id = id, .begin = SnapshotId(begin), .end = end, .values = {}};
}

LakeChanges changes(std::optional<SnapshotId> after, std::vector<std::int64_t> commits) {
  LakeChanges all;
  all.after = after;
  all.up_to = SnapshotId(commits.back());
  for (auto id : commits) all.commits.push_back(lake_commit(id));
  return all;
}

LakeChanges with_files(LakeChanges all, std::vector<model::LakeDataFile> files) {
  for (auto& file : files) all.data_files.emplace(file.id, file);
  return all;
}

LakeChanges with_rows(LakeChanges all, std::vector<model::LakeInlinedRow> rows) {
  all.inlined = {{.schema_version = 1, .columns = {}, .rows = std::move(rows)}};
  return all;
}

std::string short_name(const std::string& path) {
  auto cut = path.find_last_of('/');
  return path.substr(cut + 1);
}

// Each group as its data file, its positions, and the delete file that counts too.
std::string told(const DeleteGroup& group) {
  auto positions = group.positions;
  std::ranges::sort(positions);
  return fmt::format("{}[{}{}]", short_name(group.data_file), fmt::join(positions, ","),
                     group.source ? fmt::format("+d{}", group.source->id) : "");
}

std::string told(const SnapshotChange& change, const ExportPlan& plan) {
  std::vector<std::string> parts;
  for (const auto& view : change.added_data) parts.push_back("+" + short_name(view.file.file_path));
  for (const auto& path : change.removed_data) parts.push_back("-" + short_name(path));
  for (const auto& view : change.added_deletes) {
    for (const auto& group : plan.deletes) {
      if (group.location == view.file.file_path) parts.push_back(told(group));
    }
  }
  for (const auto& path : change.superseded_deletes) parts.push_back("x" + short_name(path));
  std::ranges::sort(parts);
  return fmt::format("{}: {}", change.snapshot_id.value, fmt::join(parts, " "));
}

Exported export_all(const ExportPlan& plan) {
  Exported made;
  for (const auto& group : plan.inlined) {
    made[group.location].record_count = static_cast<std::int64_t>(group.rows.size());
  }
  for (const auto& group : plan.deletes) made[group.location].record_count = 1;
  return made;
}

std::vector<std::string> split(const LakeChanges& all) {
  const auto table = sample_lake();
  ExportPlan plan = plan_exports(table, all);
  auto split = split_changes(table, all, plan, export_all(plan));
  EXPECT_TRUE(split);
  std::vector<std::string> lines;
  for (const auto& change : *split) lines.push_back(told(change, plan));
  return lines;
}

struct Case {
  const char* name;
  LakeChanges changes;
  std::vector<std::string> lines;
};

void expect_splits(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(split(c.changes), c.lines);
  }
}

const std::optional<SnapshotId> kStart;
SnapshotId at(std::int64_t id) { return SnapshotId(id); }

TEST(ChangeSplit, data_files) {
  expect_splits({
      {"append",
       with_files(changes(kStart, {1, 2}), {lake_file(1, 1), lake_file(2, 2)}),
       {"1: +f1", "2: +f2"}},
      {"drop", with_files(changes(at(1), {2, 3}), {lake_file(1, 1, at(3))}), {"2: ", "3: -f1"}},
      {"dropped_later",
       with_files(changes(kStart, {1, 2}), {lake_file(1, 1, at(3))}),
       {"1: +f1", "2: "}},
      {"dropped_earlier", with_files(changes(at(4), {5}), {lake_file(1, 1, at(3))}), {"5: "}},
      {"append_at_a_removed_snapshot",
       with_files(changes(at(1), {4}), {lake_file(1, 2)}),
       {"4: +f1"}},
      {"came_and_went_unseen", with_files(changes(at(1), {4}), {lake_file(1, 2, at(3))}), {"4: "}},
      {"came_and_went_with_the_list",
       with_files(changes(at(1), {4}), {lake_file(1, 2, at(4))}),
       {"4: "}},
      {"overwrite",
       with_files(changes(at(1), {2}), {lake_file(1, 1, at(2)), lake_file(2, 2)}),
       {"2: +f2 -f1"}},
  });
}

TEST(ChangeSplit, deletes_of_rows_in_files) {
  auto one = [](std::optional<SnapshotId> after, std::vector<std::int64_t> commits,
                std::vector<model::LakeDeleteFile> files,
                std::vector<model::LakeInlinedDelete> inlined = {},
                std::optional<SnapshotId> end = std::nullopt) {
    auto all = with_files(changes(after, std::move(commits)), {lake_file(1, 1, end)});
    all.delete_files = std::move(files);
    all.inlined_deletes = std::move(inlined);
    return all;
  };
  expect_splits({
      {"first", one(at(1), {2}, {delete_file(5, 1, 2)}), {"2: f1[+d5]"}},
      {"with_its_file", one(kStart, {1}, {delete_file(5, 1, 1)}), {"1: +f1 f1[+d5]"}},
      {"replaced_in_the_range",
       one(at(1), {2, 3}, {delete_file(5, 1, 2, at(3)), delete_file(6, 1, 3)}),
       {"2: f1[+d5]", "3: f1[+d6] xf1"}},
      {"replaces_an_older_one",
       one(at(2), {3}, {delete_file(5, 1, 2, at(3)), delete_file(6, 1, 3)}),
       {"3: f1[+d6] xf1"}},
      {"two_shown_as_one",
       one(at(1), {3}, {delete_file(5, 1, 2, at(3)), delete_file(6, 1, 3)}),
       {"3: f1[+d6]"}},
      {"inlined",
       one(at(1), {2, 3}, {}, {inlined_delete(1, 7, 2), inlined_delete(1, 4, 3)}),
       {"2: f1[7]", "3: f1[4,7] xf1"}},
      {"inlined_after_a_file",
       one(at(2), {3}, {delete_file(5, 1, 2)}, {inlined_delete(1, 7, 3)}),
       {"3: f1[7+d5] xf1"}},
      {"file_after_inlined",
       one(at(2), {3}, {delete_file(5, 1, 3)}, {inlined_delete(1, 7, 2)}),
       {"3: f1[7+d5] xf1"}},
      {"both_at_once",
       one(at(1), {2}, {delete_file(5, 1, 2)}, {inlined_delete(1, 7, 2)}),
       {"2: f1[7+d5]"}},
      {"file_dropped_then",
       one(at(1), {2, 3}, {delete_file(5, 1, 2, at(3))}, {}, at(3)),
       {"2: f1[+d5]", "3: -f1 xf1"}},
      {"file_dropped_with_an_old_delete",
       one(at(2), {3}, {delete_file(5, 1, 2)}, {}, at(3)),
       {"3: -f1 xf1"}},
      {"file_dropped_without_deletes", one(at(2), {3}, {}, {}, at(3)), {"3: -f1"}},
      {"deleted_and_dropped_unseen",
       one(at(1), {3}, {delete_file(5, 1, 2, at(3))}, {}, at(3)),
       {"3: -f1"}},
      {"not_yet", one(at(1), {2}, {delete_file(5, 1, 3)}), {"2: "}},
  });
}

TEST(ChangeSplit, rows_in_postgresql) {
  expect_splits({
      {"groups_by_snapshot",
       with_rows(changes(kStart, {1, 2}), {row(0, 1), row(1, 1), row(2, 2)}),
       {"1: +inlined-1-1-0", "2: +inlined-1-2-0"}},
      {"positions_follow_row_ids",
       with_rows(changes(kStart, {1, 2}), {row(9, 1), row(5, 1, at(2)), row(2, 1)}),
       {"1: +inlined-1-1-0", "2: inlined-1-1-0[1]"}},
      {"deletes_add_up",
       with_rows(changes(kStart, {1, 2, 3}), {row(0, 1, at(3)), row(1, 1, at(2)), row(2, 1)}),
       {"1: +inlined-1-1-0", "2: inlined-1-1-0[1]", "3: inlined-1-1-0[0,1] xinlined-1-1-0"}},
      {"whole_group_gone_at_once",
       with_rows(changes(kStart, {1, 2}), {row(0, 1, at(2)), row(1, 1, at(2))}),
       {"1: +inlined-1-1-0", "2: -inlined-1-1-0"}},
      {"whole_group_gone_in_steps",
       with_rows(changes(kStart, {1, 2, 3}), {row(0, 1, at(2)), row(1, 1, at(3))}),
       {"1: +inlined-1-1-0", "2: inlined-1-1-0[0]", "3: -inlined-1-1-0 xinlined-1-1-0"}},
      {"inserted_and_deleted_by_one_commit",
       with_rows(changes(kStart, {1, 2}), {row(0, 1, at(1)), row(1, 1, at(2)), row(2, 1)}),
       {"1: +inlined-1-1-0", "2: inlined-1-1-0[0]"}},
      {"only_that", with_rows(changes(kStart, {1}), {row(0, 1, at(1))}), {"1: "}},
      {"older_group",
       with_rows(changes(at(2), {3}), {row(0, 1, at(2)), row(1, 1, at(3)), row(2, 1)}),
       {"3: inlined-1-1-0[0,1] xinlined-1-1-0"}},
      {"older_group_gone",
       with_rows(changes(at(2), {3}), {row(0, 1, at(2)), row(1, 1, at(3))}),
       {"3: -inlined-1-1-0 xinlined-1-1-0"}},
      {"older_group_gone_before",
       with_rows(changes(at(2), {3}), {row(0, 1, at(2)), row(1, 3)}),
       {"3: +inlined-1-3-0"}},
      {"came_and_went_unseen",
       with_rows(changes(kStart, {4}), {row(0, 2, at(3)), row(1, 3)}),
       {"4: +inlined-1-3-0"}},
      {"partly_deleted_unseen",
       with_rows(changes(kStart, {4}), {row(0, 2, at(3)), row(1, 2)}),
       {"4: +inlined-1-2-0 inlined-1-2-0[0]"}},
      {"ends_later",
       with_rows(changes(kStart, {1}), {row(0, 1, at(2)), row(1, 1, at(3))}),
       {"1: +inlined-1-1-0"}},
      {"begins_later", with_rows(changes(kStart, {1}), {row(0, 2)}), {"1: "}},
  });
}

TEST(ChangeSplit, exports_nothing_that_no_snapshot_shows) {
  auto all = with_rows(changes(kStart, {4}), {row(0, 2, at(3)), row(1, 2, at(4))});
  EXPECT_TRUE(plan_exports(sample_lake(), all).empty());
}

TEST(ChangeSplit, a_delete_stands_under_its_data_files_partition) {
  auto table = sample_lake();
  auto file = lake_file(1, 1);
  file.partition_id = kPartition;
  file.stats = {{.column_id = 1, .null_count = 0, .min_value = "8", .max_value = "8"}};
  auto all = with_files(changes(kStart, {1, 2}), {file});
  all.inlined_deletes = {inlined_delete(1, 0, 2)};
  ExportPlan plan = plan_exports(table, all);
  auto split = split_changes(table, all, plan, export_all(plan));
  ASSERT_TRUE(split);
  const FileView& deletes = (*split)[1].added_deletes.at(0);
  EXPECT_EQ(deletes.spec_id, 1);
  EXPECT_EQ(deletes.file.partition, (*split)[0].added_data.at(0).file.partition);
  EXPECT_EQ(deletes.file.content, model::FileContent::kPositionDeletes);
  EXPECT_EQ(deletes.file.referenced_data_file, file.path);
  const auto& path = deletes.file.metrics.at(2147483546);
  EXPECT_EQ(path.lower_bound, file.path);
  EXPECT_EQ(path.upper_bound, file.path);
}

TEST(ChangeSplit, fails_when_a_planned_file_was_not_exported) {
  auto all = with_rows(changes(kStart, {1}), {row(0, 1)});
  auto split = split_changes(sample_lake(), all, plan_exports(sample_lake(), all), {});
  ASSERT_FALSE(split);
  EXPECT_EQ(split.error().kind(), base::ErrorKind::kInternal);
}

TEST(ChangeSplit, takes_a_commit_for_a_rewrite_only_if_it_is_nothing_else) {
  struct {
    const char* line;
    bool rewrites;
  } cases[] = {
      {"", false},
      {"inserted_into_table:3", false},
      {"merge_adjacent:3", true},
      {"rewrite_delete:3", true},
      {"inline_flush:3,inline_flush:4", true},
      {"flushed_inlined:3", true},
      {"compacted_table:3", true},
      {"inline_flush:3,inserted_into_table:3", false},
      {"deleted_from_table:3,inline_flush:3", true},
      {"deleted_from_table:3", false},
      {"deleted_from_table:3,merge_adjacent:3", false},
      {"inserted_into_table:3,merge_adjacent:4", false},
      {R"(created_table:"main"."merge_adjacent:3",inserted_into_table:3)", false},
      {R"(created_table:"a"",inline_flush:3,""b"."t")", false},
  };
  for (const auto& c : cases) {
    LakeChanges all;
    all.commits = {lake_commit(1, c.line)};
    auto split = split_changes(sample_lake(), all, {}, {});
    ASSERT_TRUE(split);
    EXPECT_EQ(split->at(0).rewrites_only, c.rewrites) << c.line;
  }
}

TEST(ChangeSplit, keeps_a_clients_summary_but_not_its_counts) {
  struct {
    const char* text;
    std::map<std::string, std::string> kept;
  } cases[] = {
      {R"({"engine-name":"x","operation":"delete","added-records":"9","total-records":"9",)"
       R"("deleted-records":"9","removed-files-size":"9","number":5})",
       {{"engine-name", "x"}}},
      {"free text", {}},
      {"[1]", {}},
      {"", {}},
  };
  for (const auto& c : cases) {
    LakeChanges all;
    all.commits = {lake_commit(1)};
    all.commits[0].extra_info = c.text;
    auto split = split_changes(sample_lake(), all, {}, {});
    ASSERT_TRUE(split);
    EXPECT_EQ(split->at(0).extra_summary, c.kept) << c.text;
  }
}

TEST(ChangeSplit, says_who_made_the_commit_and_why) {
  LakeChanges all;
  all.commits = {lake_commit(1)};
  all.commits[0].author = "ann";
  all.commits[0].commit_message = std::string(5000, 'x');
  all.commits[0].extra_info = R"({"author":"of a client"})";
  auto split = split_changes(sample_lake(), all, {}, {});
  ASSERT_TRUE(split);
  EXPECT_EQ(split->at(0).extra_summary,
            (std::map<std::string, std::string>{{"author", "of a client"}}))
      << "a client's summary counts, and what is too long for each load is left out";
  all.commits[0].extra_info = std::nullopt;
  all.commits[0].commit_message = "why, \"so\"";
  split = split_changes(sample_lake(), all, {}, {});
  ASSERT_TRUE(split);
  EXPECT_EQ(split->at(0).extra_summary, (std::map<std::string, std::string>{
                                            {"author", "ann"}, {"commit-message", "why, \"so\""}}));
}

TEST(ChangeSplit, the_clients_own_word_for_its_operation_is_kept) {
  struct Case {
    const char* text;
    std::optional<model::Operation> client_operation;
  } cases[] = {
      {R"({"operation":"replace"})", model::Operation::kReplace},
      {R"({"operation":"guess"})", std::nullopt},
      {R"({"operation":1})", std::nullopt},
      {R"({"other":"append"})", std::nullopt},
  };
  for (const auto& c : cases) {
    LakeChanges all;
    all.commits = {lake_commit(1)};
    all.commits[0].extra_info = c.text;
    auto split = split_changes(sample_lake(), all, {}, {});
    ASSERT_TRUE(split);
    EXPECT_EQ(split->at(0).client_operation, c.client_operation) << c.text;
    EXPECT_FALSE(split->at(0).extra_summary.contains("operation")) << c.text;
  }
}

TEST(ChangeSplit, names_the_schema_of_each_snapshot) {
  auto table = sample_lake();
  table.schema_at = {{SnapshotId(2), 0}, {SnapshotId(4), 1}};
  table.metadata.current_schema_id = 1;
  auto split = split_changes(table, changes(kStart, {2, 3, 4, 5}), {}, {});
  ASSERT_TRUE(split);
  std::vector<std::int32_t> ids;
  for (const auto& change : *split) ids.push_back(change.schema_id);
  EXPECT_EQ(ids, (std::vector<std::int32_t>{0, 0, 1, 1}));
}

}  // namespace
}  // namespace lake::materialize
