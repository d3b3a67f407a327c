#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/avro/container_reader.h"
#include "base/avro/container_writer.h"
#include "base/testing/golden.h"

namespace base::avro {
namespace {

using ::testing::Pair;
using ::testing::UnorderedElementsAre;

// The four records of tests/golden/avro/make.py.
void put_record(Encoder& out, int i) {
  out.put_boolean(i % 2 == 0);
  out.put_long(-i);
  out.put_long(i * 1'000'000'000'000'000);
  out.put_float(static_cast<float>(i) + 0.5F);
  out.put_double(i + 0.25);
  out.put_bytes(std::string{static_cast<char>(i), '\0', '\xFF'});
  out.put_bytes("caf\xC3\xA9 " + std::to_string(i));
  out.put_long(i % 2);
  out.put_fixed(std::string(4, static_cast<char>(i)));
  if (i > 0) out.put_block(static_cast<std::size_t>(i));
  for (int item = 0; item < i; ++item) out.put_long(item);
  out.put_end();
  out.put_block(2);
  out.put_bytes("a");
  out.put_long(i);
  out.put_bytes("b");
  out.put_long(-i);
  out.put_end();
  out.put_branch(i % 2 == 0 ? 1 : 0);
  if (i % 2 == 0) out.put_bytes("there");
  out.put_branch(i % 2 == 0 ? 1 : 0);
  if (i % 2 != 0) out.put_long(i);
  if (i > 0) out.put_block(static_cast<std::size_t>(i));
  for (int key = 0; key < i; ++key) {
    out.put_long(key);
    out.put_bytes(std::string(1, static_cast<char>(key)));
  }
  out.put_end();
  out.put_branch(i == 2 ? 1 : 0);
  if (i == 2) {
    out.put_long(2);
    out.put_branch(0);
  }
}

void expect_record(Value value, int i) {
  EXPECT_EQ(value.field("flag")->boolean(), i % 2 == 0);
  EXPECT_EQ(value.field("small")->integer(), -i);
  EXPECT_EQ(value.field("big")->integer(), i * 1'000'000'000'000'000);
  EXPECT_EQ(value.field("single")->number(), i + 0.5);
  EXPECT_EQ(value.field("double")->number(), i + 0.25);
  EXPECT_EQ(value.field("blob")->bytes(), (std::string{static_cast<char>(i), '\0', '\xFF'}));
  EXPECT_EQ(value.field("text")->bytes(), "caf\xC3\xA9 " + std::to_string(i));
  EXPECT_EQ(value.field("color")->bytes(), i % 2 == 0 ? "RED" : "GREEN");
  EXPECT_EQ(value.field("hash")->bytes(), std::string(4, static_cast<char>(i)));
  EXPECT_EQ(value.field("list")->size(), static_cast<std::size_t>(i));
  EXPECT_EQ(value.field("dict")->at(3).integer(), -i);
  EXPECT_EQ(value.field("maybe")->is_null(), i % 2 != 0);
  EXPECT_EQ(value.field("turned")->is_null(), i % 2 == 0);
  EXPECT_TRUE(value.field("nothing")->is_null());
  EXPECT_EQ(value.field("pairs")->size(), static_cast<std::size_t>(i));
  if (i == 3) {
    EXPECT_EQ(value.field("pairs")->at(2).field("value")->bytes(), "\x02");
  }
  EXPECT_EQ(value.field("next")->is_null(), i != 2);
}

std::string sample_file(Codec codec) {
  ContainerWriter writer(testing::read_golden("avro/everything.avsc"), {{"note", "kept"}}, codec);
  for (int i = 0; i < 4; ++i) {
    put_record(writer.encoder(), i);
    writer.end_datum();
  }
  return std::move(writer).finish();
}

void expect_sample(std::string_view file, Codec codec) {
  auto reader = ContainerReader::open(file);
  ASSERT_TRUE(reader) << reader.error().message();
  EXPECT_EQ(reader->codec(), codec);
  ASSERT_NE(reader->metadata("note"), nullptr);
  EXPECT_EQ(*reader->metadata("note"), "kept");
  EXPECT_EQ(int_attribute(reader->schema().root().fields[1].attributes, "field-id"), 7);
  for (int i = 0; i < 4; ++i) {
    auto value = reader->next();
    ASSERT_TRUE(value) << value.error().message();
    ASSERT_TRUE(value->has_value());
    expect_record(**value, i);
  }
  auto end = reader->next();
  ASSERT_TRUE(end);
  EXPECT_FALSE(end->has_value());
}

// Reads to the end or to the first error; must not crash.
Status read_all(std::string_view file, ReadLimits limits = {}) {
  ASSIGN_OR_RETURN(auto reader, ContainerReader::open(file, limits));
  while (true) {
    ASSIGN_OR_RETURN(auto value, reader.next());
    if (!value) return {};
  }
}

class ContainerTest : public ::testing::TestWithParam<Codec> {};

TEST_P(ContainerTest, reads_the_files_of_a_foreign_writer) {
  const std::string name = fmt::format("avro/fastavro_{}.avro", to_string(GetParam()));
  expect_sample(testing::read_golden(name), GetParam());
}

TEST_P(ContainerTest, reads_what_it_wrote) { expect_sample(sample_file(GetParam()), GetParam()); }

TEST_P(ContainerTest, same_input_gives_the_same_bytes) {
  EXPECT_EQ(sample_file(GetParam()), sample_file(GetParam()));
}

TEST_P(ContainerTest, a_file_cut_off_anywhere_but_between_blocks_is_corrupt) {
  const std::string file = sample_file(GetParam());
  auto reader = ContainerReader::open(file);
  ASSERT_TRUE(reader);
  int accepted = 0;
  for (std::size_t size = 0; size < file.size(); ++size) {
    auto status = read_all(std::string_view(file).substr(0, size));
    if (status) {
      ++accepted;  // the header alone is a file without records
    } else {
      EXPECT_EQ(status.error().kind(), ErrorKind::kCorrupt) << size;
    }
  }
  EXPECT_EQ(accepted, 1);
}

TEST_P(ContainerTest, a_flipped_bit_anywhere_is_survived) {
  const std::string file = sample_file(GetParam());
  const ReadLimits small{.block_bytes = 1 << 20, .decode = {.datum_values = 10'000}};
  for (std::size_t i = 0; i < file.size() * 8; ++i) {
    std::string flipped = file;
    flipped[i / 8] = static_cast<char>(flipped[i / 8] ^ (1 << (i % 8)));
    auto status = read_all(flipped, small);
    if (status) continue;  // a changed value is still a value
    const ErrorKind kind = status.error().kind();
    EXPECT_TRUE(kind == ErrorKind::kCorrupt || kind == ErrorKind::kTooLarge ||
                kind == ErrorKind::kUnsupported)
        << i << ' ' << status.error().message();
  }
}

INSTANTIATE_TEST_SUITE_P(All, ContainerTest,
                         ::testing::Values(Codec::kNull, Codec::kDeflate, Codec::kSnappy,
                                           Codec::kZstandard),
                         [](const auto& test) { return std::string(to_string(test.param)); });

TEST(ContainerWriterTest, bytes_match_the_golden_files) {
  EXPECT_TRUE(testing::matches_golden("avro/written_null.avro", sample_file(Codec::kNull)));
  EXPECT_TRUE(testing::matches_golden("avro/written_deflate.avro", sample_file(Codec::kDeflate)));
}

TEST(ContainerWriterTest, the_marker_follows_schema_and_metadata) {
  const SyncMarker one = derive_sync_marker(R"("int")", {{"a", "b"}});
  EXPECT_EQ(one, derive_sync_marker(R"("int")", {{"a", "b"}}));
  EXPECT_NE(one, derive_sync_marker(R"("int")", {{"a", "c"}}));
  EXPECT_NE(one, derive_sync_marker(R"("long")", {{"a", "b"}}));
}

TEST(ContainerWriterTest, large_files_have_several_blocks) {
  const SyncMarker sync{'m', 'a', 'r', 'k'};
  ContainerWriter writer(R"("long")", {}, Codec::kNull, sync);
  for (int i = 0; i < 100'000; ++i) {
    writer.encoder().put_long(i);
    writer.end_datum();
  }
  const std::string file = std::move(writer).finish();
  std::size_t markers = 0;
  const std::string_view marker(sync.data(), sync.size());
  for (auto at = file.find(marker); at != file.npos; at = file.find(marker, at + 1)) ++markers;
  EXPECT_GT(markers, 3U);
  auto reader = ContainerReader::open(file);
  ASSERT_TRUE(reader);
  for (int i = 0; i < 100'000; ++i) ASSERT_EQ((**reader->next()).integer(), i);
}

TEST(ContainerReaderTest, shows_all_metadata) {
  ContainerWriter writer(R"("int")", {{"k", "v"}, {"empty", ""}}, Codec::kDeflate);
  const std::string file = std::move(writer).finish();
  auto reader = ContainerReader::open(file);
  ASSERT_TRUE(reader);
  EXPECT_THAT(reader->metadata(),
              UnorderedElementsAre(Pair("avro.schema", R"("int")"), Pair("avro.codec", "deflate"),
                                   Pair("k", "v"), Pair("empty", "")));
  EXPECT_EQ(reader->metadata("absent"), nullptr);
}

std::string header(std::string_view key, std::string_view value) {
  Encoder out;
  out.put_block(2);
  out.put_bytes("avro.schema");
  out.put_bytes(R"("null")");
  out.put_bytes(key);
  out.put_bytes(value);
  out.put_end();
  return "Obj\x01" + out.buffer() + std::string(16, 's');
}

TEST(ContainerReaderTest, refuses_an_unknown_codec) {
  auto reader = ContainerReader::open(header("avro.codec", "bzip2"));
  ASSERT_FALSE(reader);
  EXPECT_EQ(reader.error().kind(), ErrorKind::kUnsupported);
}

TEST(ContainerReaderTest, bounds_records_that_take_no_bytes) {
  Encoder block;
  block.put_long(1'000'000'000'000);
  block.put_long(0);
  const std::string file = header("k", "v") + block.buffer() + std::string(16, 's');
  auto status = read_all(file, {.decode = {.total_values = 1000}});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().kind(), ErrorKind::kTooLarge);
}

TEST(ContainerReaderTest, unpacks_no_more_than_its_records_may_take) {
  auto file_of = [](int records) {
    ContainerWriter writer(R"("bytes")", {}, Codec::kDeflate);
    for (int i = 0; i < records; ++i) {
      writer.encoder().put_bytes(std::string(2000 / records, 'a'));
      writer.end_datum();
    }
    return std::move(writer).finish();
  };
  EXPECT_FALSE(read_all(file_of(1), {.datum_bytes = 1000}));
  EXPECT_TRUE(read_all(file_of(4), {.datum_bytes = 1000}));
  EXPECT_TRUE(read_all(file_of(1), {.datum_bytes = 2002}));
}

TEST(ContainerReaderTest, unpacks_no_block_without_a_record) {
  auto file_of = [](std::int64_t records) {
    Encoder block;
    block.put_long(records);
    block.put_bytes("no deflate data");
    return header("avro.codec", "deflate") + block.buffer() + std::string(16, 's');
  };
  EXPECT_TRUE(read_all(file_of(0)));
  auto status = read_all(file_of(1));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().kind(), ErrorKind::kCorrupt);
}

TEST(ContainerReaderTest, refuses_bytes_behind_the_last_record) {
  Encoder block;
  block.put_long(1);
  block.put_bytes("x");
  auto status = read_all(header("k", "v") + block.buffer() + std::string(16, 's'));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().kind(), ErrorKind::kCorrupt);
}

TEST(ContainerReaderTest, bounds_file_and_metadata) {
  const std::string file = header("k", "v");
  EXPECT_TRUE(read_all(file, {.file_bytes = file.size(), .metadata_entries = 2}));
  for (const ReadLimits& limits :
       {ReadLimits{.file_bytes = file.size() - 1}, ReadLimits{.metadata_entries = 1}}) {
    auto status = read_all(file, limits);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().kind(), ErrorKind::kTooLarge);
  }
}

}  // namespace
}  // namespace base::avro
