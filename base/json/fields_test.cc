#include "base/json/fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace base::json {
namespace {

constexpr std::string_view kDocument = R"({
  "text": "x", "number": 7, "flag": true, "nothing": null, "double": 1.5,
  "min32": -2147483648, "max32": 2147483647, "below32": -2147483649, "above32": 2147483648,
  "max64": 9223372036854775807, "above64": 9223372036854775808,
  "object": {"inner": {"bad": 1}},
  "objects": [{"id": 1}, {"id": "two"}], "mixed": [{}, 3],
  "strings": ["a", "b"], "mixed-strings": ["a", null],
  "int32s": [1, -2], "mixed-int32s": [1, 2147483648],
  "map": {"k": "v", "": "e"}, "bad-map": {"k": 1}
})";

class FieldsTest : public testing::Test {
 protected:
  FieldsTest() : document_(*parse(kDocument)), root_(*Fields::of(document_, "body")) {}

  template <class T>
  static void expect_error(const Result<T>& result, std::string_view path) {
    ASSERT_FALSE(result.has_value()) << path;
    EXPECT_EQ(result.error().kind(), ErrorKind::kInvalid);
    EXPECT_TRUE(result.error().message().starts_with(std::string(path) + ": "))
        << result.error().message();
  }

  Value document_;
  Fields root_;
};

TEST_F(FieldsTest, reads_each_type) {
  EXPECT_EQ(*root_.string("text"), "x");
  EXPECT_EQ(*root_.int64("number"), 7);
  EXPECT_EQ(*root_.int32("number"), 7);
  EXPECT_TRUE(*root_.boolean("flag"));
  EXPECT_EQ((*root_.array("strings"))->size(), 2U);
  EXPECT_THAT(*root_.strings("strings"), testing::ElementsAre("a", "b"));
  EXPECT_THAT(*root_.int32s("int32s"), testing::ElementsAre(1, -2));
  EXPECT_THAT(*root_.string_map("map"),
              testing::ElementsAre(testing::Pair("", "e"), testing::Pair("k", "v")));
}

TEST_F(FieldsTest, optional_forms_take_what_is_there) {
  EXPECT_EQ(**root_.opt_string("text"), "x");
  EXPECT_EQ(**root_.opt_int64("number"), 7);
  EXPECT_EQ(**root_.opt_int32("number"), 7);
  EXPECT_TRUE(**root_.opt_boolean("flag"));
  EXPECT_TRUE((*root_.opt_object("object"))->has("inner"));
  EXPECT_EQ((*root_.opt_array("strings"))->size(), 2U);
  EXPECT_EQ(root_.opt_string_map("map")->size(), 2U);
}

TEST_F(FieldsTest, optional_forms_take_absent_and_null_for_nothing) {
  for (const char* key : {"absent", "nothing"}) {
    EXPECT_FALSE(root_.has(key));
    EXPECT_FALSE(root_.opt_string(key)->has_value());
    EXPECT_FALSE(root_.opt_int64(key)->has_value());
    EXPECT_FALSE(root_.opt_int32(key)->has_value());
    EXPECT_FALSE(root_.opt_boolean(key)->has_value());
    EXPECT_FALSE(root_.opt_object(key)->has_value());
    EXPECT_EQ(*root_.opt_array(key), nullptr);
    EXPECT_TRUE(root_.opt_string_map(key)->empty());
  }
}

TEST_F(FieldsTest, required_forms_refuse_absent_and_null) {
  for (std::string key : {"absent", "nothing"}) {
    std::string path = "body." + key;
    expect_error(root_.value(key), path);
    expect_error(root_.string(key), path);
    expect_error(root_.int64(key), path);
    expect_error(root_.int32(key), path);
    expect_error(root_.boolean(key), path);
    expect_error(root_.object(key), path);
    expect_error(root_.array(key), path);
    expect_error(root_.objects(key), path);
    expect_error(root_.strings(key), path);
    expect_error(root_.int32s(key), path);
    expect_error(root_.string_map(key), path);
  }
}

TEST_F(FieldsTest, every_form_refuses_another_type) {
  expect_error(root_.string("number"), "body.number");
  expect_error(root_.opt_string("number"), "body.number");
  expect_error(root_.int64("text"), "body.text");
  expect_error(root_.int64("double"), "body.double");
  expect_error(root_.opt_int64("flag"), "body.flag");
  expect_error(root_.opt_int32("text"), "body.text");
  expect_error(root_.boolean("number"), "body.number");
  expect_error(root_.opt_boolean("text"), "body.text");
  expect_error(root_.object("strings"), "body.strings");
  expect_error(root_.opt_object("text"), "body.text");
  expect_error(root_.array("object"), "body.object");
  expect_error(root_.opt_array("text"), "body.text");
  expect_error(root_.opt_string_map("strings"), "body.strings");
  expect_error(Fields::of(Value(1), "body"), "body");
  expect_error(Fields::of(Value(1), ""), "the document");
}

TEST_F(FieldsTest, integers_are_checked_at_both_ends) {
  EXPECT_EQ(*root_.int32("min32"), std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(*root_.int32("max32"), std::numeric_limits<std::int32_t>::max());
  expect_error(root_.int32("below32"), "body.below32");
  expect_error(root_.int32("above32"), "body.above32");
  EXPECT_EQ(*root_.int64("max64"), std::numeric_limits<std::int64_t>::max());
  expect_error(root_.int64("above64"), "body.above64");
}

TEST_F(FieldsTest, errors_name_the_whole_path) {
  auto inner = root_.object("object")->object("inner");
  expect_error(inner->string("bad"), "body.object.inner.bad");
  auto objects = root_.objects("objects");
  EXPECT_EQ(*objects->at(0).int64("id"), 1);
  expect_error(objects->at(1).int64("id"), "body.objects[1].id");
  expect_error(root_.objects("mixed"), "body.mixed[1]");
  expect_error(root_.strings("mixed-strings"), "body.mixed-strings[1]");
  expect_error(root_.int32s("mixed-int32s"), "body.mixed-int32s[1]");
  expect_error(root_.string_map("bad-map"), "body.bad-map.k");
}

TEST_F(FieldsTest, objects_are_counted_before_they_are_read) {
  EXPECT_TRUE(root_.objects("objects", 2));
  expect_error(root_.objects("objects", 1), "body.objects");
  expect_error(root_.objects("mixed", 1), "body.mixed");
}

TEST_F(FieldsTest, an_empty_path_leaves_the_key_alone) {
  auto fields = *Fields::of(document_, "");
  expect_error(fields.string("number"), "number");
  expect_error(fields.object("object")->string("inner"), "object.inner");
}

}  // namespace
}  // namespace base::json
