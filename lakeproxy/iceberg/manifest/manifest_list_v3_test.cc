#include <gtest/gtest.h>

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
using model::ManifestFile;
using model::SnapshotId;

const ManifestListHeader kHeader{SnapshotId(9), SnapshotId(7), 9, 1000};

// The two manifests that manifest_v3_test.cc writes into tests/golden.
std::vector<ManifestFile> sample_list() {
  auto data = summarize_manifest(sample_header(), sample_entries_v3(), 9, SnapshotId(9));
  auto deletes =
      summarize_manifest(sample_delete_header(), sample_vector_entries(), 9, SnapshotId(9));
  auto data_bytes = encode_manifest_v3(sample_header(), sample_entries_v3(), Codec::kNull);
  auto delete_bytes =
      encode_manifest_v3(sample_delete_header(), sample_vector_entries(), Codec::kDeflate);
  EXPECT_TRUE(data && deletes && data_bytes && delete_bytes);
  data->manifest_path = "s3://lake/t/metadata/written_v3.avro";
  data->manifest_length = static_cast<std::int64_t>(data_bytes->size());
  data->first_row_id = 40;
  deletes->manifest_path = "s3://lake/t/metadata/written_v3_deletes.avro";
  deletes->manifest_length = static_cast<std::int64_t>(delete_bytes->size());
  return {*data, *deletes};
}

TEST(ManifestListV3Test, is_read_back_as_it_was_written) {
  auto file = encode_manifest_list_v3(kHeader, sample_list(), Codec::kDeflate);
  ASSERT_TRUE(file) << file.error().message();
  auto back = read_manifest_list(*file);
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(*back, sample_list());
}

TEST(ManifestListV3Test, bytes_match_the_golden_file) {
  auto file = encode_manifest_list_v3(kHeader, sample_list(), Codec::kNull);
  ASSERT_TRUE(file);
  EXPECT_TRUE(base::testing::matches_golden("iceberg/written_v3_list.avro", *file));
}

TEST(ManifestListV3Test, says_where_new_row_ids_begin) {
  auto file = encode_manifest_list_v3(kHeader, {}, Codec::kNull);
  ASSERT_TRUE(file);
  auto reader = base::avro::ContainerReader::open(*file);
  ASSERT_TRUE(reader);
  EXPECT_EQ(*reader->metadata("format-version"), "3");
  EXPECT_EQ(*reader->metadata("first-row-id"), "1000");
}

TEST(ManifestListV3Test, row_ids_are_for_all_data_and_for_no_deletes) {
  auto without = sample_list();
  without[0].first_row_id.reset();
  EXPECT_EQ(encode_manifest_list_v3(kHeader, without, Codec::kNull).error().kind(),
            ErrorKind::kInvalid);
  auto with = sample_list();
  with[1].first_row_id = 7;
  EXPECT_EQ(encode_manifest_list_v3(kHeader, with, Codec::kNull).error().kind(),
            ErrorKind::kInvalid);
  ManifestListHeader no_begin = kHeader;
  no_begin.first_row_id.reset();
  EXPECT_EQ(encode_manifest_list_v3(no_begin, sample_list(), Codec::kNull).error().kind(),
            ErrorKind::kInvalid);
}

}  // namespace
}  // namespace lake::materialize
