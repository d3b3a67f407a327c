#include "base/avro/decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "base/avro/encoder.h"

namespace base::avro {
namespace {

using ::testing::ElementsAre;

TEST(AvroEncoderTest, writes_zig_zag_varints) {
  const std::pair<std::int64_t, std::string> cases[] = {
      {0, std::string(1, '\0')},
      {-1, "\x01"},
      {1, "\x02"},
      {-64, "\x7f"},
      {64, "\x80\x01"},
      {std::numeric_limits<std::int64_t>::max(), "\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"},
      {std::numeric_limits<std::int64_t>::min(), "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"},
  };
  for (const auto& [value, bytes] : cases) {
    Encoder out;
    out.put_long(value);
    EXPECT_EQ(out.buffer(), bytes) << value;
    std::string_view in = bytes;
    EXPECT_EQ(take_long(in), value);
    EXPECT_TRUE(in.empty());
  }
}

TEST(TakeLongTest, refuses_cut_off_and_overlong_integers) {
  for (std::string_view bytes : {"", "\x80", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02",
                                 "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"}) {
    EXPECT_EQ(take_long(bytes), std::nullopt);
  }
}

Schema schema_of(std::string_view text) {
  auto schema = Schema::parse(text);
  EXPECT_TRUE(schema) << schema.error().message();
  return std::move(*schema);
}

TEST(DecoderTest, reads_arrays_of_several_blocks) {
  const Schema schema = schema_of(R"({"type":"array","items":"int"})");
  // Two items; one item in a block that tells its size; the end.
  std::string_view in("\x04\x02\x04\x01\x02\x06\x00", 7);
  Decoder decoder;
  auto value = decoder.decode(schema.root(), in);
  ASSERT_TRUE(value) << value.error().message();
  std::vector<std::int64_t> items;
  for (Value item : *value) items.push_back(item.integer().value_or(-1));
  EXPECT_THAT(items, ElementsAre(1, 2, 3));
  EXPECT_EQ(value->size(), 3U);
}

TEST(DecoderTest, reads_nested_values_and_skips_over_them) {
  const Schema schema = schema_of(R"({"type":"record","name":"r","fields":[
      {"name":"list","type":{"type":"array","items":{"type":"array","items":"int"}}},
      {"name":"dict","type":{"type":"map","values":["null","string"]}},
      {"name":"last","type":"long"}]})");
  Encoder out;
  out.put_block(2);
  out.put_end();
  out.put_block(1);
  out.put_long(5);
  out.put_end();
  out.put_end();
  out.put_block(1);
  out.put_bytes("key");
  out.put_branch(1);
  out.put_bytes("text");
  out.put_end();
  out.put_long(42);
  std::string_view in = out.buffer();
  Decoder decoder;
  auto value = decoder.decode(schema.root(), in);
  ASSERT_TRUE(value) << value.error().message();
  EXPECT_EQ(value->at(2).integer(), 42);
  EXPECT_EQ(value->field("last")->integer(), 42);
  EXPECT_EQ(value->field("absent"), std::nullopt);
  EXPECT_EQ(value->at(0).at(1).at(0).integer(), 5);
  EXPECT_EQ(value->at(1).at(0).bytes(), "key");
  EXPECT_EQ(value->at(1).at(1).bytes(), "text");
  EXPECT_EQ(value->at(1).at(1).integer(), std::nullopt);
}

struct BadData {
  const char* name;
  const char* schema;
  std::string bytes;
};

class BadDataTest : public ::testing::TestWithParam<BadData> {};

TEST_P(BadDataTest, is_corrupt) {
  const Schema schema = schema_of(GetParam().schema);
  std::string_view in = GetParam().bytes;
  Decoder decoder;
  auto value = decoder.decode(schema.root(), in);
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().kind(), ErrorKind::kCorrupt);
}

INSTANTIATE_TEST_SUITE_P(
    DecoderTest, BadDataTest,
    ::testing::Values(
        BadData{"no_boolean", R"("boolean")", ""}, BadData{"boolean_2", R"("boolean")", "\x02"},
        BadData{"int_over_32_bits", R"("int")", "\x80\x80\x80\x80\x10"},
        BadData{"float_cut_off", R"("float")", "abc"},
        BadData{"double_cut_off", R"("double")", "abcdefg"},
        BadData{"negative_length", R"("bytes")", "\x01"},
        BadData{"length_beyond_end", R"("bytes")", "\x06xy"},
        BadData{"huge_length", R"("bytes")", "\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"},
        BadData{"not_utf8", R"("string")", "\x02\xff"},
        BadData{"fixed_cut_off", R"({"type":"fixed","name":"f","size":4})", "abc"},
        BadData{"no_such_symbol", R"({"type":"enum","name":"e","symbols":["A"]})", "\x02"},
        BadData{"negative_symbol", R"({"type":"enum","name":"e","symbols":["A"]})", "\x01"},
        BadData{"no_such_branch", R"(["null","int"])", "\x04"},
        BadData{"negative_branch", R"(["null","int"])", "\x01"},
        BadData{"no_branches", "[]", std::string(1, '\0')},
        BadData{"array_without_end", R"({"type":"array","items":"int"})", "\x02\x02"},
        BadData{"array_block_beyond_end", R"({"type":"array","items":"int"})", "\x01\x10\x02"},
        BadData{"array_of_lowest_count", R"({"type":"array","items":"null"})",
                "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x02"},
        BadData{"map_key_cut_off", R"({"type":"map","values":"int"})", "\x02\x06k"}),
    [](const auto& test) { return test.param.name; });

TEST(DecoderTest, bounds_values_that_take_no_bytes) {
  const Schema schema = schema_of(R"({"type":"array","items":"null"})");
  Encoder out;
  out.put_block(1'000'000'000'000);
  out.put_end();
  std::string_view in = out.buffer();
  Decoder decoder({.datum_values = 1000});
  auto value = decoder.decode(schema.root(), in);
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().kind(), ErrorKind::kTooLarge);
}

TEST(DecoderTest, bounds_the_values_of_all_data) {
  const Schema schema = schema_of(R"("null")");
  Decoder decoder({.total_values = 2});
  std::string_view in;
  EXPECT_TRUE(decoder.decode(schema.root(), in));
  EXPECT_TRUE(decoder.decode(schema.root(), in));
  auto third = decoder.decode(schema.root(), in);
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().kind(), ErrorKind::kTooLarge);
}

TEST(DecoderTest, bounds_the_depth_of_a_recursive_record) {
  const Schema endless =
      schema_of(R"({"type":"record","name":"r","fields":[{"name":"f","type":"r"}]})");
  std::string_view nothing;
  Decoder decoder;
  auto value = decoder.decode(endless.root(), nothing);
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().kind(), ErrorKind::kTooLarge);

  const Schema list =
      schema_of(R"({"type":"record","name":"r","fields":[{"name":"f","type":["null","r"]}]})");
  auto depth_of = [&](int links) {
    const std::string bytes = std::string(links, '\x02') + '\0';
    std::string_view in = bytes;
    return Decoder({.depth = 10}).decode(list.root(), in).has_value();
  };
  EXPECT_TRUE(depth_of(4));
  EXPECT_FALSE(depth_of(5));
}

}  // namespace
}  // namespace base::avro
