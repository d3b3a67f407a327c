#include "lakeproxy/from_iceberg/files/commit_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lake::operation {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

ducklake::AddedFile file(const std::string& path, std::int64_t rows = 10) {
  ducklake::AddedFile added;
  added.file.file_path = path;
  added.file.record_count = rows;
  return added;
}

ducklake::LiveFile live(const std::string& path, std::int64_t id) {
  return {.location = path, .id = model::DataFileId(id), .record_count = 10, .inlined = {7, 3}};
}

// "lake 5" or "new 0.1", for each row.
std::vector<std::string> rows(CommitFiles& files, const std::string& path) {
  std::vector<std::string> names;
  for (const FileRow& row : files.rows(path)) {
    names.push_back(row.live ? "lake " + std::to_string(row.live->id.value)
                             : "new " + std::to_string(row.added.snapshot) + "." +
                                   std::to_string(row.added.index));
  }
  return names;
}

TEST(CommitFiles, the_oldest_row_of_a_path_goes_first_whenever_the_lake_is_asked) {
  for (const bool asked_first : {true, false}) {
    CommitFiles files;
    if (asked_first) files.know({"a"}, {live("a", 5), live("a", 6)});
    files.begin({.added = {file("b"), file("a")}});
    files.begin({.removed = {"a", "a"}});
    EXPECT_EQ(files.unknown({"a", "b"}).size(), asked_first ? 1 : 2);
    if (!asked_first) files.know({"a"}, {live("a", 5), live("a", 6)});
    EXPECT_THAT(rows(files, "a"), ElementsAre("new 0.1"));
    EXPECT_THAT(rows(files, "b"), ElementsAre("new 0.0"));
    EXPECT_EQ(files.removed_now("a"), 2);
    files.begin({.removed = {"a"}});
    EXPECT_THAT(rows(files, "a"), IsEmpty());
    EXPECT_EQ(files.removed_now("a"), 1);
    EXPECT_EQ(files.removed("a"), 3);
    files.begin({.added = {file("a")}});
    EXPECT_THAT(rows(files, "a"), ElementsAre("new 3.0"));
    EXPECT_EQ(files.removed_now("a"), 0);
  }
}

TEST(CommitFiles, a_place_that_is_not_in_the_table_has_no_rows) {
  CommitFiles files;
  EXPECT_THAT(rows(files, "a"), IsEmpty());
  files.know({"a"}, {});
  EXPECT_THAT(rows(files, "a"), IsEmpty());
  EXPECT_THAT(files.unknown({"a"}), IsEmpty()) << "it is not asked for twice";
  files.begin({.removed = {"a"}});
  EXPECT_THAT(rows(files, "a"), IsEmpty()) << "what is removed and was never there";
}

TEST(CommitFiles, delete_files_of_the_commit_are_told_from_those_of_the_table) {
  CommitFiles files;
  files.begin({.added = {file("a"), file("b")}});
  auto puffin = file("vectors");
  puffin.file.content_offset = 4;
  files.note_deletes({.added_deletes = {file("p"), puffin}});
  EXPECT_TRUE(files.has_deletes(file("p").file));
  EXPECT_TRUE(files.has_deletes(puffin.file));
  EXPECT_FALSE(files.has_deletes(file("vectors").file)) << "another part of the object";
  ASSERT_TRUE(files.remember(files.rows("b")[0], "p", {1, 2}));
  EXPECT_THAT(files.deleted_by("p"), ElementsAre("b"));
  EXPECT_THAT(files.deleted_by("vectors#4"), IsEmpty());
}

TEST(CommitFiles, a_commit_has_an_end) {
  CommitFiles files;
  files.begin({.added = {file("a")}});
  FileRow& row = files.rows("a")[0];
  ASSERT_TRUE(files.remember(row, "p", exporter::Positions(exporter::kMostPositionsAtOnce)));
  auto more = files.remember(row, "q", {1});
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().kind(), base::ErrorKind::kTooLarge);
}

}  // namespace
}  // namespace lake::operation
