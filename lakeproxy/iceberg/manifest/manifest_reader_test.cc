#include "lakeproxy/iceberg/manifest/manifest_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/avro/container_writer.h"
#include "base/json/json.h"
#include "base/testing/golden.h"
#include "lakeproxy/iceberg/manifest/manifest_summary.h"
#include "lakeproxy/iceberg/manifest/manifest_versions.h"
#include "lakeproxy/iceberg/manifest/sample_manifest.h"
#include "lakeproxy/iceberg/schema/partition_json.h"
#include "lakeproxy/iceberg/schema/schema_json.h"

namespace lake::materialize {
namespace {

using base::ErrorKind;
using base::avro::Codec;
using base::testing::read_golden;
using model::ManifestEntry;

Manifest read_golden_manifest(const std::string& name) {
  auto manifest = read_manifest(read_golden("iceberg/" + name));
  EXPECT_TRUE(manifest) << name << ": " << manifest.error().message();
  return manifest ? std::move(*manifest) : Manifest{};
}

class ForeignManifestTest : public ::testing::TestWithParam<const char*> {};

TEST_P(ForeignManifestTest, is_read_like_our_own) {
  const Manifest manifest = read_golden_manifest(GetParam());
  EXPECT_EQ(manifest.header.schema.schema_id, 2);
  EXPECT_TRUE(manifest.header.schema.same_columns(sample_schema()));
  EXPECT_EQ(manifest.header.spec, sample_spec());
  EXPECT_EQ(manifest.header.content, model::FileContent::kData);
  auto wanted = sample_entries();
  if (manifest.header.format_version == 1) {
    for (ManifestEntry& entry : wanted) {
      entry.sequence_number = 0;
      entry.file_sequence_number = 0;
    }
  }
  // The Java implementation cannot write a fixed partition value.
  const bool is_java = std::string_view(GetParam()).starts_with("java");
  if (is_java) wanted[0].data_file.partition[6].reset();
  if (manifest.header.format_version == 3) wanted[1].data_file.first_row_id = 1000;
  EXPECT_EQ(manifest.entries, wanted);
}

INSTANTIATE_TEST_SUITE_P(Writers, ForeignManifestTest,
                         ::testing::Values("pyiceberg_v1_gzip.avro", "pyiceberg_v2_gzip.avro",
                                           "pyiceberg_v2_zstandard.avro",
                                           "pyiceberg_v2_snappy.avro", "java_v1.avro",
                                           "java_v2.avro", "java_v3.avro"));

TEST(ManifestReaderTest, reads_deletes_of_the_java_implementation) {
  auto wanted = sample_deletes();
  const Manifest v2 = read_golden_manifest("java_v2_deletes.avro");
  EXPECT_EQ(v2.header.content, model::FileContent::kPositionDeletes);
  EXPECT_EQ(v2.header.format_version, 2);
  EXPECT_EQ(v2.entries, wanted);

  const Manifest v3 = read_golden_manifest("java_v3_deletes.avro");
  wanted[0].data_file.file_path = "s3://lake/t/data/d.puffin";
  wanted[0].data_file.file_format = model::FileFormat::kPuffin;
  wanted[0].data_file.content_offset = 4;
  wanted[0].data_file.content_size_in_bytes = 40;
  EXPECT_EQ(v3.header.format_version, 3);
  EXPECT_EQ(v3.entries, wanted);
}

// A manifest by a writer that leaves field ids out, orders fields its own way,
// turns unions round and adds fields of its own.
std::string odd_manifest(std::string_view status, std::string_view version) {
  const std::string schema = R"({"type":"record","name":"e","fields":[
      {"name":"extra","type":{"type":"map","values":"string"}},
      {"name":"data_file","type":{"type":"record","name":"f","fields":[
        {"name":"record_count","type":"int"},
        {"name":"lower_bounds","type":[{"type":"array","items":{"type":"record","name":"p",
          "fields":[{"name":"value","type":"bytes"},{"name":"key","type":"int"}]}},"null"]},
        {"name":"file_size_in_bytes","type":["long","null"]},
        {"name":"partition","type":{"type":"record","name":"t","fields":[
          {"name":"uid","type":["string","null"]},{"name":"gone","type":["null","long"]}]}},
        {"name":"file_format","type":"string"},{"name":"file_path","type":"string"}]}},
      {"name":"status","type":)" +
                             std::string(status) + "}]}";
  model::PartitionSpec spec{.spec_id = 4, .fields = {{99, 1001, "gone", {}}, {6, 1000, "uid", {}}}};
  base::avro::ContainerWriter writer(
      schema,
      {{"schema", base::json::write(model::to_json(sample_schema()))},
       {"partition-spec", base::json::write(model::to_json(spec))},
       {"partition-spec-id", "4"},
       {"format-version", std::string(version)}},
      Codec::kNull);
  base::avro::Encoder& out = writer.encoder();
  out.put_block(1);
  out.put_bytes("k");
  out.put_bytes("v");
  out.put_end();
  out.put_long(12);
  out.put_branch(0);
  out.put_block(1);
  out.put_bytes("abc");
  out.put_long(2);
  out.put_end();
  out.put_branch(0);
  out.put_long(34);
  out.put_branch(0);
  out.put_bytes("f79c3e09-677c-4bbd-a479-3f349cb785e7");
  out.put_branch(1);
  out.put_long(5);
  out.put_bytes("parquet");
  out.put_bytes("s3://b/x");
  out.put_long(1);
  writer.end_datum();
  return std::move(writer).finish();
}

TEST(ManifestReaderTest, goes_by_name_and_by_the_writers_order) {
  auto manifest = read_manifest(odd_manifest(R"("int")", "2"));
  ASSERT_TRUE(manifest) << manifest.error().message();
  ASSERT_EQ(manifest->entries.size(), 1U);
  const model::DataFile& file = manifest->entries[0].data_file;
  EXPECT_EQ(file.record_count, 12);
  EXPECT_EQ(file.file_size_in_bytes, 34);
  EXPECT_EQ(file.file_path, "s3://b/x");
  EXPECT_EQ(file.metrics.at(2).lower_bound, "abc");
  ASSERT_EQ(file.partition.size(), 2U);
  EXPECT_EQ(file.partition[0], model::Literal(std::int64_t{5}));
  EXPECT_EQ(file.partition[1], sample_partition()[5]);
}

TEST(ManifestReaderTest, refuses_other_kinds_and_versions) {
  auto text_status =
      read_manifest(odd_manifest(R"({"type":"enum","name":"s","symbols":["A"]})", "2"));
  ASSERT_FALSE(text_status);
  EXPECT_EQ(text_status.error().kind(), ErrorKind::kCorrupt);
  auto version_4 = read_manifest(odd_manifest(R"("int")", "4"));
  ASSERT_FALSE(version_4);
  EXPECT_EQ(version_4.error().kind(), ErrorKind::kUnsupported);
  auto version_x = read_manifest(odd_manifest(R"("int")", "x"));
  ASSERT_FALSE(version_x);
  EXPECT_EQ(version_x.error().kind(), ErrorKind::kCorrupt);
}

TEST(ManifestReaderTest, bounds_the_number_of_entries) {
  const std::string file = read_golden("iceberg/java_v2.avro");
  EXPECT_TRUE(read_manifest(file, {.entries = 3}));
  auto refused = read_manifest(file, {.entries = 2});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorKind::kTooLarge);
}

TEST(ManifestReaderTest, bounds_the_statistics_of_all_files) {
  const std::string file = read_golden("iceberg/written_v2.avro");
  EXPECT_TRUE(read_manifest(file, {.statistics = 3}));
  auto refused = read_manifest(file, {.statistics = 2});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorKind::kTooLarge);
}

TEST(ManifestReaderTest, a_path_of_megabytes_is_refused) {
  auto entries = sample_entries();
  entries[0].data_file.file_path = "s3://b/" + std::string(4096 - 7, 'a');
  for (std::size_t more = 0; more < 2; ++more) {
    entries[0].data_file.file_path += std::string(more, 'a');
    auto file = encode_manifest_v2(sample_header(), entries, Codec::kDeflate);
    ASSERT_TRUE(file);
    auto read = read_manifest(*file);
    EXPECT_EQ(read.has_value(), more == 0);
    if (!read) EXPECT_EQ(read.error().kind(), ErrorKind::kCorrupt);
  }
  entries[0].data_file.file_path += std::string(20'000'000, 'a');
  auto bomb = encode_manifest_v2(sample_header(), std::span(entries).first(1), Codec::kDeflate);
  ASSERT_TRUE(bomb);
  EXPECT_LT(bomb->size(), 200'000U);
  auto unpacked = read_manifest(*bomb);
  ASSERT_FALSE(unpacked);
  EXPECT_EQ(unpacked.error().kind(), ErrorKind::kTooLarge) << "a record of 20 MB is not unpacked";
}

TEST(ManifestReaderTest, a_manifest_list_is_not_a_manifest) {
  auto manifest = read_manifest(read_golden("iceberg/java_v2_list.avro"));
  ASSERT_FALSE(manifest);
  EXPECT_EQ(manifest.error().kind(), ErrorKind::kCorrupt);
  auto list = read_manifest_list(read_golden("iceberg/java_v2.avro"));
  ASSERT_FALSE(list);
  EXPECT_EQ(list.error().kind(), ErrorKind::kCorrupt);
}

// Any answer but a crash; an error is of a kind that the header names.
template <class T>
void expect_survived(const base::Result<T>& result, std::size_t at) {
  if (result) return;
  const ErrorKind kind = result.error().kind();
  EXPECT_TRUE(kind == ErrorKind::kCorrupt || kind == ErrorKind::kTooLarge ||
              kind == ErrorKind::kUnsupported)
      << at << ": " << result.error().message();
}

TEST(ManifestReaderTest, survives_truncations) {
  for (const char* name : {"written_v2.avro", "java_v3_deletes.avro", "pyiceberg_v1_gzip.avro"}) {
    const std::string file = read_golden(std::string("iceberg/") + name);
    for (std::size_t size = 0; size < file.size(); ++size) {
      expect_survived(read_manifest(std::string_view(file).substr(0, size)), size);
    }
  }
}

TEST(ManifestReaderTest, survives_changed_bytes) {
  const std::string file = read_golden("iceberg/written_v2.avro");
  const ManifestLimits limits{.avro = {.decode = {.datum_values = 100'000}}};
  for (std::size_t i = 0; i < file.size(); ++i) {
    for (int change : {1, 0x80, 0xFF}) {
      std::string changed = file;
      changed[i] = static_cast<char>(changed[i] ^ change);
      expect_survived(read_manifest(changed, limits), i);
    }
  }
}

TEST(ManifestListReaderTest, survives_truncations_and_changed_bytes) {
  const std::string file = read_golden("iceberg/written_v2_list.avro");
  const ManifestLimits limits{.avro = {.decode = {.datum_values = 100'000}}};
  for (std::size_t i = 0; i < file.size(); ++i) {
    expect_survived(read_manifest_list(std::string_view(file).substr(0, i)), i);
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = file;
      changed[i] = static_cast<char>(changed[i] ^ (1 << bit));
      expect_survived(read_manifest_list(changed, limits), i);
    }
  }
}

// What makes a header, counted: a header that is not kept is made again.
class CountedMake {
 public:
  ManifestHeaders::Made ask(ManifestHeaders& headers, const model::ManifestHeader& header,
                            std::int32_t format_version = 2, Codec codec = Codec::kNull) {
    return headers.written(header, format_version, codec, [&] {
      ++calls;
      return base::avro::ContainerHeader{.bytes = "made " + std::to_string(calls), .codec = codec};
    });
  }
  int calls = 0;
};

TEST(ManifestHeadersTest, a_header_is_made_once) {
  ManifestHeaders headers;
  CountedMake make;
  auto first = make.ask(headers, sample_header());
  EXPECT_EQ(make.ask(headers, sample_header()), first);
  EXPECT_EQ(make.calls, 1);
}

TEST(ManifestHeadersTest, what_is_too_many_or_too_long_is_made_each_time) {
  ManifestHeaders none(0);
  ManifestHeaders short_ones(9, 5);
  for (ManifestHeaders* headers : {&none, &short_ones}) {
    CountedMake make;
    EXPECT_NE(make.ask(*headers, sample_header()), make.ask(*headers, sample_header()));
    EXPECT_EQ(make.calls, 2);
  }
}

// The writer begins with what is kept, whatever it is.
TEST(ManifestHeadersTest, a_manifest_is_written_with_the_kept_header) {
  ManifestHeaders headers;
  CountedMake make;
  make.ask(headers, sample_header(), 2, Codec::kDeflate);
  make.ask(headers, sample_header(), 3, Codec::kDeflate);
  auto second = encode_manifest_v2(sample_header(), sample_entries(), Codec::kDeflate, &headers);
  auto third = encode_manifest_v3(sample_header(), sample_entries(), Codec::kDeflate, &headers);
  ASSERT_TRUE(second && third);
  EXPECT_TRUE(second->starts_with("made 1"));
  EXPECT_TRUE(third->starts_with("made 2"));
}

TEST(ManifestHeadersTest, a_written_header_is_kept_for_the_next_manifest) {
  ManifestHeaders headers;
  auto alone = encode_manifest_v2(sample_header(), sample_entries(), Codec::kDeflate);
  auto first = encode_manifest_v2(sample_header(), sample_entries(), Codec::kDeflate, &headers);
  CountedMake make;
  make.ask(headers, sample_header(), 2, Codec::kDeflate);
  EXPECT_EQ(make.calls, 0);
  auto second = encode_manifest_v2(sample_header(), sample_entries(), Codec::kDeflate, &headers);
  ASSERT_TRUE(alone && first && second);
  EXPECT_EQ(*alone, *first);
  EXPECT_EQ(*alone, *second);
}

TEST(ManifestHeadersTest, headers_that_differ_in_one_part_are_kept_apart) {
  ManifestHeaders headers;
  std::vector<model::ManifestHeader> all(6, sample_header());
  all[1].schema.schema_id += 1;
  all[2].spec.spec_id += 1;
  all[3].schema.fields[0].doc = "another";
  all[4].schema.fields[0].name += "_";
  all[5].content = model::FileContent::kPositionDeletes;
  CountedMake make;
  std::set<ManifestHeaders::Made> made;
  for (int round = 0; round < 2; ++round) {
    for (const auto& header : all) {
      made.insert(make.ask(headers, header));
      made.insert(make.ask(headers, header, 2, Codec::kDeflate));
      made.insert(make.ask(headers, header, 3));
    }
  }
  ManifestHeaders in_use;
  for (const auto& header : all) {
    EXPECT_EQ(*encode_manifest_v2(header, {}, Codec::kNull, &in_use),
              *encode_manifest_v2(header, {}, Codec::kNull));
    EXPECT_EQ(*encode_manifest_v2(header, {}, Codec::kDeflate, &in_use),
              *encode_manifest_v2(header, {}, Codec::kDeflate));
    EXPECT_EQ(*encode_manifest_v3(header, {}, Codec::kNull, &in_use),
              *encode_manifest_v3(header, {}, Codec::kNull));
  }
  EXPECT_EQ(made.size(), 3 * all.size());
  EXPECT_EQ(make.calls, static_cast<int>(3 * all.size())) << "none of them twice";
}

TEST(ManifestHeadersTest, a_header_that_was_read_before_is_the_same_again) {
  ManifestHeaders headers;
  auto data = encode_manifest_v2(sample_header(), sample_entries(), Codec::kNull);
  auto deletes = encode_manifest_v2(sample_delete_header(), sample_deletes(), Codec::kNull);
  ASSERT_TRUE(data && deletes);
  for (int round = 0; round < 2; ++round) {
    for (const std::string& file : {*data, *deletes}) {
      auto kept = read_manifest(file, {}, &headers);
      auto alone = read_manifest(file);
      ASSERT_TRUE(kept && alone);
      EXPECT_EQ(kept->header.schema, alone->header.schema);
      EXPECT_EQ(kept->header.spec, alone->header.spec);
      EXPECT_EQ(kept->header.content, alone->header.content);
      EXPECT_EQ(kept->header.format_version, alone->header.format_version);
      EXPECT_EQ(kept->entries, alone->entries);
    }
    EXPECT_EQ(headers.parses(), 2U) << "one for each of the files, in the first round";
  }
}

TEST(ManifestHeadersTest, a_header_that_may_not_be_kept_is_parsed_each_time) {
  auto data = encode_manifest_v2(sample_header(), sample_entries(), Codec::kNull);
  ASSERT_TRUE(data);
  ManifestHeaders none(0);
  ManifestHeaders short_ones(9, 10);
  for (ManifestHeaders* headers : {&none, &short_ones}) {
    ASSERT_TRUE(read_manifest(*data, {}, headers));
    ASSERT_TRUE(read_manifest(*data, {}, headers));
    EXPECT_EQ(headers->parses(), 2U);
  }
}

}  // namespace
}  // namespace lake::materialize
