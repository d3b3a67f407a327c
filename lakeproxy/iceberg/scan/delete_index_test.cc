#include "lakeproxy/iceberg/scan/delete_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "lakeproxy/iceberg/scan/task_json.h"
#include "lakeproxy/iceberg/value/single_value.h"

namespace lake::scan {
namespace {

using model::DataFile;
using model::FileContent;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Deletes : public ::testing::Test {
 protected:
  ListedFile listed(DataFile file, std::int64_t sequence, std::int32_t spec = 1) {
    files_.push_back(std::move(file));
    return {spec, sequence, &files_.back()};
  }
  ListedFile data(std::int64_t sequence, std::int32_t part = 1) {
    return listed({.file_path = "d", .partition = {part}}, sequence);
  }
  void add(DataFile file, std::int64_t sequence, bool is_unpartitioned = false,
           std::int32_t spec = 1) {
    index_.add(listed(std::move(file), sequence, spec), is_unpartitioned);
  }

  std::deque<DataFile> files_;
  DeleteIndex index_;
};

TEST_F(Deletes, of_positions_count_for_rows_of_their_own_commit_and_older) {
  add({.content = FileContent::kPositionDeletes, .partition = {1}}, 5);
  EXPECT_THAT(index_.find(data(4)), ElementsAre(0));
  EXPECT_THAT(index_.find(data(5)), ElementsAre(0));
  EXPECT_THAT(index_.find(data(6)), IsEmpty());
}

TEST_F(Deletes, of_equality_count_for_older_rows_alone) {
  add({.content = FileContent::kEqualityDeletes, .partition = {1}}, 5);
  EXPECT_THAT(index_.find(data(4)), ElementsAre(0));
  EXPECT_THAT(index_.find(data(5)), IsEmpty());
}

TEST_F(Deletes, count_in_their_partition_of_their_spec) {
  add({.content = FileContent::kPositionDeletes, .partition = {1}}, 5);
  add({.content = FileContent::kEqualityDeletes, .partition = {1}}, 5);
  EXPECT_THAT(index_.find(data(1, 2)), IsEmpty());
  EXPECT_THAT(index_.find(listed({.file_path = "d", .partition = {1}}, 1, 2)), IsEmpty());
  EXPECT_THAT(index_.find(listed({.file_path = "d", .partition = {std::nullopt}}, 1)), IsEmpty());
  EXPECT_THAT(index_.find(data(1)), ElementsAre(0, 1));
}

TEST_F(Deletes, of_equality_without_a_partition_count_everywhere) {
  add({.content = FileContent::kEqualityDeletes}, 5, true, 0);
  EXPECT_THAT(index_.find(data(1, 7)), ElementsAre(0));
  EXPECT_THAT(index_.find(data(5, 7)), IsEmpty());
}

TEST_F(Deletes, of_one_file_count_for_it_alone) {
  add({.content = FileContent::kPositionDeletes, .partition = {1}, .referenced_data_file = "d"}, 5);
  DataFile by_bounds{.content = FileContent::kPositionDeletes, .partition = {1}};
  by_bounds.metrics[2147483546] = {.lower_bound = "other", .upper_bound = "other"};
  add(by_bounds, 5);
  by_bounds.metrics[2147483546] = {.lower_bound = "a", .upper_bound = "z"};
  add(by_bounds, 5);
  EXPECT_THAT(index_.find(data(1)), ElementsAre(0, 2));
  EXPECT_THAT(index_.find(listed({.file_path = "other", .partition = {1}}, 1)), ElementsAre(1, 2));
  EXPECT_THAT(index_.find(data(6)), IsEmpty());
}

TEST_F(Deletes, in_a_vector_stand_for_all_positions_of_the_file) {
  add({.content = FileContent::kPositionDeletes, .partition = {1}}, 5);
  add({.content = FileContent::kPositionDeletes, .partition = {1}, .referenced_data_file = "d"}, 5);
  add({.content = FileContent::kPositionDeletes,
       .file_format = model::FileFormat::kPuffin,
       .partition = {1},
       .referenced_data_file = "d"},
      6);
  add({.content = FileContent::kEqualityDeletes, .partition = {1}}, 6);
  EXPECT_THAT(index_.find(data(1)), ElementsAre(2, 3));
  EXPECT_THAT(index_.find(listed({.file_path = "e", .partition = {1}}, 1)), ElementsAre(0, 3));
}

TEST(TaskJson, writes_a_file_as_clients_read_it) {
  DataFile file{.file_path = "s3://b/\"x\".parquet",
                .partition = {std::int32_t{18262}, std::nullopt, std::string("a")},
                .record_count = 3,
                .file_size_in_bytes = 100,
                .split_offsets = {4, 50},
                .first_row_id = 7};
  file.metrics[1] = {.value_count = 3, .null_count = 1, .lower_bound = std::string("\x01\xff", 2)};
  file.metrics[2] = {.value_count = 3};
  const std::vector<model::Type> types = {model::Type(model::TypeKind::kDate),
                                          model::Type(model::TypeKind::kInt),
                                          model::Type(model::TypeKind::kString)};
  std::string out;
  append_file(out, file, {4, RowIds::kTold, &types, nullptr});
  EXPECT_EQ(
      out, R"({"spec-id":4,"content":"data","file-path":"s3://b/\"x\".parquet",)"
           R"("file-format":"parquet","partition":["2020-01-01",null,"a"],)"
           R"("file-size-in-bytes":100,"record-count":3,"split-offsets":[4,50],"first-row-id":7})");
  const std::unordered_set<model::FieldId> stats = {1};
  out.clear();
  append_file(out, file, {4, RowIds::kLeftOut, &types, &stats});
  EXPECT_THAT(out, ::testing::Not(::testing::HasSubstr("first-row-id")));
  EXPECT_THAT(out, ::testing::HasSubstr(R"("value-counts":{"keys":[1],"values":[3]},)"
                                        R"("null-value-counts":{"keys":[1],"values":[1]},)"
                                        R"("nan-value-counts":{"keys":[],"values":[]},)"
                                        R"("lower-bounds":{"keys":[1],"values":["01FF"]},)"
                                        R"("upper-bounds":{"keys":[],"values":[]})"));
}

TEST(TaskJson, writes_a_deletion_vector_with_its_place) {
  const std::vector<model::Type> none;
  DataFile file{.content = FileContent::kPositionDeletes,
                .file_path = "v",
                .file_format = model::FileFormat::kPuffin,
                .record_count = 2,
                .file_size_in_bytes = 80,
                .referenced_data_file = "d",
                .content_offset = 4,
                .content_size_in_bytes = 40};
  std::string out;
  append_file(out, file, {0, RowIds::kTold, &none, nullptr});
  EXPECT_EQ(out,
            R"({"spec-id":0,"content":"position-deletes","file-path":"v","file-format":"puffin",)"
            R"("partition":[],"file-size-in-bytes":80,"record-count":2,)"
            R"("referenced-data-file":"d","content-offset":4,"content-size-in-bytes":40})");
}

}  // namespace
}  // namespace lake::scan
