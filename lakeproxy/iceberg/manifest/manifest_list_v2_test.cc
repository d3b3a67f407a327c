#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "base/avro/container_reader.h"
#include "base/testing/golden.h"
#include "lakeproxy/iceberg/manifest/manifest_reader.h"
#include "lakeproxy/iceberg/manifest/manifest_summary.h"
#include "lakeproxy/iceberg/manifest/manifest_versions.h"
#include "lakeproxy/iceberg/manifest/sample_manifest.h"

namespace lake::materialize {
namespace {

using base::ErrorKind;
using base::avro::Codec;
using base::testing::matches_golden;
using base::testing::read_golden;
using model::ManifestFile;
using model::SnapshotId;

const ManifestListHeader kHeader{SnapshotId(9), SnapshotId(7), 5};

// The two manifests that manifest_v2_test.cc writes into tests/golden.
std::vector<ManifestFile> sample_list() {
  auto data = summarize_manifest(sample_header(), sample_entries(), 5, SnapshotId(9));
  auto deletes = summarize_manifest(sample_delete_header(), sample_deletes(), 5, SnapshotId(9));
  auto data_bytes = encode_manifest_v2(sample_header(), sample_entries(), Codec::kNull);
  auto delete_bytes = encode_manifest_v2(sample_delete_header(), sample_deletes(), Codec::kDeflate);
  EXPECT_TRUE(data && deletes && data_bytes && delete_bytes);
  data->manifest_path = "s3://lake/t/metadata/written_v2.avro";
  data->manifest_length = static_cast<std::int64_t>(data_bytes->size());
  deletes->manifest_path = "s3://lake/t/metadata/written_v2_deletes.avro";
  deletes->manifest_length = static_cast<std::int64_t>(delete_bytes->size());
  return {*data, *deletes};
}

TEST(ManifestSummaryTest, counts_files_and_rows_and_sums_up_partitions) {
  const auto list = sample_list();
  const ManifestFile& data = list[0];
  EXPECT_EQ(data.partition_spec_id, 3);
  EXPECT_EQ(data.content, model::ManifestContent::kData);
  EXPECT_EQ(data.sequence_number, 5);
  EXPECT_EQ(data.min_sequence_number, 3);
  EXPECT_EQ(data.added_snapshot_id, SnapshotId(9));
  EXPECT_EQ(data.added_files_count, 1);
  EXPECT_EQ(data.existing_files_count, 1);
  EXPECT_EQ(data.deleted_files_count, 1);
  EXPECT_EQ(data.added_rows_count, 100);
  EXPECT_EQ(data.existing_rows_count, 1);
  EXPECT_EQ(data.deleted_rows_count, 1);
  ASSERT_EQ(data.partitions.size(), sample_spec().fields.size());
  EXPECT_TRUE(data.partitions[1].contains_null);
  EXPECT_EQ(data.partitions[1].lower_bound, "iceb");
  EXPECT_EQ(data.partitions[1].contains_nan, false);
  EXPECT_EQ(data.partitions[9].contains_nan, false);
  EXPECT_EQ(data.partitions[13].lower_bound, std::nullopt);
  EXPECT_EQ(list[1].content, model::ManifestContent::kDeletes);
  EXPECT_EQ(list[1].min_sequence_number, 5);
  EXPECT_TRUE(list[1].partitions.empty());
}

TEST(ManifestSummaryTest, nan_is_counted_apart) {
  model::ManifestHeader header = sample_header();
  header.spec.fields = {{10, 1000, "ratio", {}}};
  std::vector<model::ManifestEntry> entries(3, sample_entries()[0]);
  entries[0].data_file.partition = {model::Literal(2.0)};
  entries[1].data_file.partition = {model::Literal(std::numeric_limits<double>::quiet_NaN())};
  entries[2].data_file.partition = {model::Literal(-2.0)};
  auto file = summarize_manifest(header, entries, 1, SnapshotId(1));
  ASSERT_TRUE(file);
  EXPECT_EQ(file->partitions[0].contains_nan, true);
  EXPECT_FALSE(file->partitions[0].contains_null);
  EXPECT_EQ(file->partitions[0].lower_bound, std::string("\0\0\0\0\0\0\0\xC0", 8));
  EXPECT_EQ(file->partitions[0].upper_bound, std::string("\0\0\0\0\0\0\0\x40", 8));
}

TEST(ManifestSummaryTest, a_tuple_of_another_spec_is_invalid) {
  auto entries = sample_entries();
  entries[2].data_file.partition.pop_back();
  auto file = summarize_manifest(sample_header(), entries, 1, SnapshotId(1));
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().kind(), ErrorKind::kInvalid);
}

TEST(ManifestListV2Test, is_read_back_as_it_was_written) {
  auto rows = sample_list();
  rows[1].key_metadata = "key";
  for (Codec codec : {Codec::kNull, Codec::kDeflate}) {
    auto file = encode_manifest_list_v2(kHeader, rows, codec);
    ASSERT_TRUE(file) << file.error().message();
    auto back = read_manifest_list(*file);
    ASSERT_TRUE(back) << back.error().message();
    EXPECT_EQ(*back, rows);
  }
}

TEST(ManifestListV2Test, bytes_match_the_golden_file) {
  auto file = encode_manifest_list_v2(kHeader, sample_list(), Codec::kNull);
  ASSERT_TRUE(file);
  EXPECT_TRUE(matches_golden("iceberg/written_v2_list.avro", *file));
}

TEST(ManifestListV2Test, says_which_snapshot_it_belongs_to) {
  auto file = encode_manifest_list_v2({SnapshotId(1), std::nullopt, 1}, {}, Codec::kNull);
  ASSERT_TRUE(file);
  auto reader = base::avro::ContainerReader::open(*file);
  ASSERT_TRUE(reader);
  EXPECT_EQ(*reader->metadata("snapshot-id"), "1");
  EXPECT_EQ(*reader->metadata("parent-snapshot-id"), "null");
  EXPECT_EQ(*reader->metadata("sequence-number"), "1");
  EXPECT_EQ(*reader->metadata("format-version"), "2");
}

TEST(ManifestListV2Test, refuses_unknown_counts) {
  auto rows = sample_list();
  rows[0].added_files_count = -1;
  auto file = encode_manifest_list_v2(kHeader, rows, Codec::kNull);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().kind(), ErrorKind::kInvalid);
}

class ForeignListTest : public ::testing::TestWithParam<const char*> {};

TEST_P(ForeignListTest, is_read_like_our_own) {
  const std::string name = GetParam();
  auto rows = read_manifest_list(read_golden("iceberg/" + name));
  ASSERT_TRUE(rows) << rows.error().message();
  auto wanted = sample_list();
  const bool is_v1 = name.find("_v1") != std::string::npos;
  if (is_v1 || name.starts_with("pyiceberg")) wanted.pop_back();
  ASSERT_EQ(rows->size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_GT((*rows)[i].manifest_length, 0);
    EXPECT_TRUE((*rows)[i].manifest_path.starts_with("s3://lake/t/metadata/"));
    wanted[i].manifest_path = (*rows)[i].manifest_path;
    wanted[i].manifest_length = (*rows)[i].manifest_length;
    if (is_v1) wanted[i].sequence_number = wanted[i].min_sequence_number = 0;
  }
  // The Java implementation cannot write a fixed partition value.
  if (name.starts_with("java")) {
    wanted[0].partitions[6].lower_bound.reset();
    wanted[0].partitions[6].upper_bound.reset();
  }
  if (name == "java_v3_list.avro") wanted[0].first_row_id = 1000;
  EXPECT_EQ(*rows, wanted);
}

INSTANTIATE_TEST_SUITE_P(Writers, ForeignListTest,
                         ::testing::Values("pyiceberg_v1_gzip_list.avro",
                                           "pyiceberg_v2_gzip_list.avro",
                                           "pyiceberg_v2_zstandard_list.avro",
                                           "pyiceberg_v2_snappy_list.avro", "java_v1_list.avro",
                                           "java_v2_list.avro", "java_v3_list.avro"));

}  // namespace
}  // namespace lake::materialize
