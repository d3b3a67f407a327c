#include <gtest/gtest.h>

#include <functional>

#include "base/testing/golden.h"
#include "lakeproxy/iceberg/manifest/manifest_reader.h"
#include "lakeproxy/iceberg/manifest/manifest_versions.h"
#include "lakeproxy/iceberg/manifest/sample_manifest.h"

namespace lake::materialize {
namespace {

using base::ErrorKind;
using base::avro::Codec;
using base::testing::matches_golden;
using model::FileContent;
using model::ManifestEntry;

TEST(ManifestV3Test, is_read_back_as_it_was_written) {
  for (Codec codec : {Codec::kNull, Codec::kDeflate}) {
    auto file = encode_manifest_v3(sample_header(), sample_entries_v3(), codec);
    ASSERT_TRUE(file) << file.error().message();
    auto manifest = read_manifest(*file);
    ASSERT_TRUE(manifest) << manifest.error().message();
    EXPECT_EQ(manifest->header.format_version, 3);
    EXPECT_EQ(manifest->header.schema, sample_schema());
    EXPECT_EQ(manifest->entries, sample_entries_v3());
  }
}

TEST(ManifestV3Test, deletion_vectors_are_read_back_as_they_were_written) {
  auto file = encode_manifest_v3(sample_delete_header(), sample_vector_entries(), Codec::kDeflate);
  ASSERT_TRUE(file) << file.error().message();
  auto manifest = read_manifest(*file);
  ASSERT_TRUE(manifest) << manifest.error().message();
  EXPECT_EQ(manifest->header.content, FileContent::kPositionDeletes);
  EXPECT_EQ(manifest->entries, sample_vector_entries());
}

TEST(ManifestV3Test, bytes_match_the_golden_files) {
  auto data = encode_manifest_v3(sample_header(), sample_entries_v3(), Codec::kNull);
  ASSERT_TRUE(data) << data.error().message();
  EXPECT_TRUE(matches_golden("iceberg/written_v3.avro", *data));
  auto deletes =
      encode_manifest_v3(sample_delete_header(), sample_vector_entries(), Codec::kDeflate);
  ASSERT_TRUE(deletes) << deletes.error().message();
  EXPECT_TRUE(matches_golden("iceberg/written_v3_deletes.avro", *deletes));
}

struct BadFile {
  std::string name;
  std::function<void(model::DataFile&)> spoil;
};

class BadVectorTest : public ::testing::TestWithParam<BadFile> {};

TEST_P(BadVectorTest, is_invalid) {
  std::vector<ManifestEntry> entries = sample_vector_entries();
  ASSERT_TRUE(encode_manifest_v3(sample_delete_header(), entries, Codec::kNull));
  GetParam().spoil(entries[0].data_file);
  auto file = encode_manifest_v3(sample_delete_header(), entries, Codec::kNull);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().kind(), ErrorKind::kInvalid);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, BadVectorTest,
    ::testing::Values(BadFile{"no_offset", [](auto& file) { file.content_offset.reset(); }},
                      BadFile{"no_size", [](auto& file) { file.content_size_in_bytes.reset(); }},
                      BadFile{"no_data_file",
                              [](auto& file) { file.referenced_data_file.reset(); }},
                      BadFile{"equality_deletes",
                              [](auto& file) { file.content = FileContent::kEqualityDeletes; }},
                      BadFile{"a_place_in_parquet",
                              [](auto& file) { file.file_format = model::FileFormat::kParquet; }},
                      BadFile{"row_ids", [](auto& file) { file.first_row_id = 1; }}),
    [](const auto& test) { return test.param.name; });

TEST(ManifestV3Test, a_negative_row_id_is_invalid) {
  std::vector<ManifestEntry> entries = sample_entries_v3();
  entries[0].data_file.first_row_id = -1;
  auto file = encode_manifest_v3(sample_header(), entries, Codec::kNull);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().kind(), ErrorKind::kInvalid);
}

TEST(ManifestV3Test, what_holds_in_version_2_holds_too) {
  std::vector<ManifestEntry> entries = sample_entries_v3();
  entries[1].sequence_number.reset();
  EXPECT_EQ(encode_manifest_v3(sample_header(), entries, Codec::kNull).error().kind(),
            ErrorKind::kInvalid);
  EXPECT_EQ(
      encode_manifest_v3(sample_header(), sample_vector_entries(), Codec::kNull).error().kind(),
      ErrorKind::kInvalid);
}

}  // namespace
}  // namespace lake::materialize
