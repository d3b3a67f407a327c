#include "lakeproxy/iceberg/schema/name_mapping.h"

#include <gtest/gtest.h>

namespace lake::model {
namespace {

TEST(NameMapping, reads_what_it_writes) {
  const NameMapping mapping = {
      {1, {"a", "A"}, {}},
      {2, {"point"}, {{3, {"x"}, {}}, {4, {"y"}, {}}}},
      {std::nullopt, {"nothing"}, {}},
  };
  const std::string text = to_json_text(mapping);
  EXPECT_EQ(text, R"([{"field-id":1,"names":["a","A"]},)"
                  R"({"field-id":2,"names":["point"],"fields":[{"field-id":3,"names":["x"]},)"
                  R"({"field-id":4,"names":["y"]}]},{"names":["nothing"]}])");
  auto read = parse_name_mapping(text);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(*read, mapping);
}

TEST(NameMapping, finds_a_field_by_each_of_its_names_and_by_no_other) {
  const NameMapping mapping = {{1, {"a", "b"}, {}}, {2, {"c"}, {}}};
  EXPECT_EQ(find_name(mapping, "b"), &mapping[0]);
  EXPECT_EQ(find_name(mapping, "c"), &mapping[1]);
  EXPECT_EQ(find_name(mapping, "A"), nullptr);
}

TEST(NameMapping, one_name_may_stand_at_two_levels_but_not_twice_at_one) {
  EXPECT_TRUE(parse_name_mapping(
      R"([{"field-id":1,"names":["a"],"fields":[{"field-id":2,"names":["a"]}]}])"));
  for (const char* text : {R"([{"field-id":1,"names":["a"]},{"field-id":2,"names":["a"]}])",
                           R"([{"field-id":1,"names":["a","a"]}])"}) {
    auto read = parse_name_mapping(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().kind(), base::ErrorKind::kInvalid);
  }
}

TEST(NameMapping, what_is_none_is_refused_with_its_path) {
  for (const char* text :
       {"", "{", "{}", "[1]", R"([{"field-id":1}])", R"([{"names":"a"}])",
        R"([{"field-id":"1","names":[]}])", R"([{"names":["a"],"fields":{}}])"}) {
    auto read = parse_name_mapping(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().kind(), base::ErrorKind::kInvalid) << text;
    EXPECT_TRUE(read.error().message().starts_with("schema.name-mapping.default")) << text;
  }
}

}  // namespace
}  // namespace lake::model
