#include <gmock/gmock.h>
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
using model::ManifestEntry;

TEST(ManifestV2Test, is_read_back_as_it_was_written) {
  for (Codec codec : {Codec::kNull, Codec::kDeflate}) {
    auto file = encode_manifest_v2(sample_header(), sample_entries(), codec);
    ASSERT_TRUE(file) << file.error().message();
    auto manifest = read_manifest(*file);
    ASSERT_TRUE(manifest) << manifest.error().message();
    EXPECT_EQ(manifest->header.schema, sample_schema());
    EXPECT_EQ(manifest->header.spec, sample_spec());
    EXPECT_EQ(manifest->header.content, model::FileContent::kData);
    EXPECT_EQ(manifest->header.format_version, 2);
    EXPECT_EQ(manifest->entries, sample_entries());
  }
}

TEST(ManifestV2Test, deletes_are_read_back_as_they_were_written) {
  auto file = encode_manifest_v2(sample_delete_header(), sample_deletes(), Codec::kDeflate);
  ASSERT_TRUE(file) << file.error().message();
  auto manifest = read_manifest(*file);
  ASSERT_TRUE(manifest) << manifest.error().message();
  EXPECT_EQ(manifest->header.content, model::FileContent::kPositionDeletes);
  EXPECT_EQ(manifest->entries, sample_deletes());
}

TEST(ManifestV2Test, bytes_match_the_golden_files) {
  auto data = encode_manifest_v2(sample_header(), sample_entries(), Codec::kNull);
  ASSERT_TRUE(data) << data.error().message();
  EXPECT_TRUE(matches_golden("iceberg/written_v2.avro", *data));
  auto deletes = encode_manifest_v2(sample_delete_header(), sample_deletes(), Codec::kDeflate);
  ASSERT_TRUE(deletes) << deletes.error().message();
  EXPECT_TRUE(matches_golden("iceberg/written_v2_deletes.avro", *deletes));
}

TEST(ManifestV2Test, no_entries_are_a_manifest_too) {
  auto file = encode_manifest_v2(sample_header(), {}, Codec::kDeflate);
  ASSERT_TRUE(file);
  auto manifest = read_manifest(*file);
  ASSERT_TRUE(manifest);
  EXPECT_TRUE(manifest->entries.empty());
}

TEST(ManifestV2Test, many_entries_keep_their_order) {
  std::vector<ManifestEntry> entries(5000, sample_entries()[0]);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    entries[i].data_file.record_count = static_cast<std::int64_t>(i);
  }
  auto file = encode_manifest_v2(sample_header(), entries, Codec::kDeflate);
  ASSERT_TRUE(file);
  auto manifest = read_manifest(*file);
  ASSERT_TRUE(manifest) << manifest.error().message();
  EXPECT_EQ(manifest->entries, entries);
}

TEST(ManifestV2Test, leaves_the_row_id_of_version_3_out) {
  std::vector<ManifestEntry> entries{sample_entries()[0]};
  entries[0].data_file.first_row_id = 5;
  auto with = encode_manifest_v2(sample_header(), entries, Codec::kNull);
  entries[0].data_file.first_row_id.reset();
  auto without = encode_manifest_v2(sample_header(), entries, Codec::kNull);
  ASSERT_TRUE(with && without);
  EXPECT_EQ(*with, *without);
}

TEST(ManifestV2Test, a_void_field_outlives_its_column) {
  model::ManifestHeader header = sample_header();
  std::erase_if(header.schema.fields, [](const model::Field& field) { return field.id == 13; });
  auto file = encode_manifest_v2(header, sample_entries(), Codec::kNull);
  ASSERT_TRUE(file) << file.error().message();
  auto manifest = read_manifest(*file);
  ASSERT_TRUE(manifest) << manifest.error().message();
  EXPECT_EQ(manifest->entries, sample_entries());
}

TEST(ManifestV2Test, equal_fixed_types_and_equal_names_are_kept_apart) {
  model::ManifestHeader header = sample_header();
  header.spec.fields = {
      {6, 1000, "a b", {}}, {6, 1001, "a_x20b", {}}, {5, 1002, "c", {}}, {5, 1003, "d", {}}};
  ManifestEntry entry = sample_entries()[0];
  const auto& all = sample_partition();
  entry.data_file.partition = {all[5], std::nullopt, all[4], model::Literal(model::Decimal{-5})};
  auto file = encode_manifest_v2(header, std::vector{entry}, Codec::kNull);
  ASSERT_TRUE(file) << file.error().message();
  auto manifest = read_manifest(*file);
  ASSERT_TRUE(manifest) << manifest.error().message();
  EXPECT_EQ(manifest->entries[0], entry);
}

struct BadEntry {
  std::string name;
  std::function<void(model::ManifestHeader&, ManifestEntry&)> spoil;
};

class BadEntryTest : public ::testing::TestWithParam<BadEntry> {};

TEST_P(BadEntryTest, is_invalid) {
  model::ManifestHeader header = sample_header();
  std::vector<ManifestEntry> entries = sample_entries();
  ASSERT_TRUE(encode_manifest_v2(header, entries, Codec::kNull));
  GetParam().spoil(header, entries[1]);
  auto file = encode_manifest_v2(header, entries, Codec::kNull);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().kind(), ErrorKind::kInvalid);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, BadEntryTest,
    ::testing::Values(
        BadEntry{"delete_among_data",
                 [](auto&, auto& entry) {
                   entry.data_file.content = model::FileContent::kEqualityDeletes;
                 }},
        BadEntry{
            "data_among_deletes",
            [](auto& header, auto&) { header.content = model::FileContent::kPositionDeletes; }},
        BadEntry{"deletion_vector", [](auto&, auto& entry) { entry.data_file.content_offset = 4; }},
        BadEntry{"no_sequence_number", [](auto&, auto& entry) { entry.sequence_number.reset(); }},
        BadEntry{"no_file_sequence_number",
                 [](auto&, auto& entry) { entry.file_sequence_number.reset(); }},
        BadEntry{"no_snapshot_id", [](auto&, auto& entry) { entry.snapshot_id.reset(); }},
        BadEntry{"short_partition",
                 [](auto&, auto& entry) { entry.data_file.partition.pop_back(); }},
        BadEntry{"long_partition",
                 [](auto&, auto& entry) { entry.data_file.partition.emplace_back(); }},
        BadEntry{"value_of_another_type",
                 [](auto&, auto& entry) {
                   entry.data_file.partition[0] = model::Literal(std::int64_t{1});
                 }},
        BadEntry{"decimal_too_large",
                 [](auto&, auto& entry) {
                   entry.data_file.partition[4] = model::Literal(model::Decimal{__int128{1} << 31});
                 }},
        BadEntry{"fixed_of_another_length",
                 [](auto&, auto& entry) {
                   entry.data_file.partition[6] = model::Literal(model::Bytes{"abc"});
                 }},
        BadEntry{"no_source_column",
                 [](auto& header, auto&) { header.spec.fields[0].source_id = 99; }},
        BadEntry{"transform_on_another_type",
                 [](auto& header, auto&) { header.spec.fields[2].source_id = 2; }}),
    [](const auto& test) { return test.param.name; });

TEST(ManifestV2Test, an_unknown_transform_is_unsupported) {
  model::ManifestHeader header = sample_header();
  header.spec.fields[0].transform = {model::TransformKind::kUnknown, 0, "zorder"};
  auto file = encode_manifest_v2(header, sample_entries(), Codec::kNull);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().kind(), ErrorKind::kUnsupported);
}

}  // namespace
}  // namespace lake::materialize
