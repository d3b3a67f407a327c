#include "toolserver/definition/template.h"

#include <gtest/gtest.h>

namespace tool::definition {
namespace {

using base::ErrorKind;
using base::json::Object;
using Encoding = Template::Encoding;

base::Result<std::optional<std::string>> rendered(std::string_view text, const Object& args,
                                                  Encoding encoding = Encoding::kPlain) {
  auto parsed = Template::parse(text);
  EXPECT_TRUE(parsed.has_value()) << text;
  if (!parsed) return std::move(parsed).error();
  return parsed->render(args, {{"token", base::Secret("s3cret")}}, encoding);
}

TEST(TemplateTest, puts_values_in_their_places) {
  Object args{{"a", "x y"}, {"n", 7},          {"f", 1.5},        {"b", true},
              {"e", ""},    {"braces", "{n}"}, {"null", nullptr}, {"slash", "../a?b=c&d#e%2f\r\n"}};
  struct Case {
    std::string_view text;
    std::optional<std::string> plain;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"", ""},
           {"plain", "plain"},
           {"{a}", "x y"},
           {"--n={n}", "--n=7"},
           {"{f}{b}", "1.5true"},
           {"{e}", ""},
           {"{{{a}}}", "{x y}"},
           {"}}{{", "}{"},
           {"{braces}", "{n}"},
           {"Bearer {secret.token}", "Bearer s3cret"},
           {"{missing}", std::nullopt},
           {"{a}{missing}", std::nullopt},
           {"{null}", std::nullopt},
       }) {
    auto text = rendered(c.text, args);
    ASSERT_TRUE(text.has_value()) << c.text;
    EXPECT_EQ(*text, c.plain) << c.text;
  }
  auto url = rendered("/v1/{slash}/x%20y", args, Encoding::kUrl);
  ASSERT_TRUE(url.has_value());
  EXPECT_EQ(**url, "/v1/..%2Fa%3Fb%3Dc%26d%23e%252f%0D%0A/x%20y");
}

TEST(TemplateTest, a_value_that_is_no_text_of_one_line_is_refused_by_name) {
  Object args{{"list", base::json::Array{1}},
              {"object", Object{}},
              {"nul", boost::json::string(std::string_view("a\0b", 3))}};
  for (std::string_view name : {"list", "object", "nul"}) {
    auto text = rendered("{" + std::string(name) + "}", args);
    ASSERT_FALSE(text.has_value()) << name;
    EXPECT_EQ(text.error().kind(), ErrorKind::kInvalid);
    EXPECT_TRUE(text.error().message().starts_with("args." + std::string(name) + ": "));
  }
}

TEST(TemplateTest, what_is_no_template_is_refused) {
  std::string many;
  for (int i = 0; i < 33; ++i) many += "{a}";
  struct Case {
    std::string text;
    ErrorKind kind;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"{", ErrorKind::kInvalid},
           {"}", ErrorKind::kInvalid},
           {"{}", ErrorKind::kInvalid},
           {"{a", ErrorKind::kInvalid},
           {"{{a}", ErrorKind::kInvalid},
           {"{a b}", ErrorKind::kInvalid},
           {"{1a}", ErrorKind::kInvalid},
           {"{a.b}", ErrorKind::kInvalid},
           {"{secret.}", ErrorKind::kInvalid},
           {"{secret.a.b}", ErrorKind::kInvalid},
           {"{" + std::string(65, 'a') + "}", ErrorKind::kInvalid},
           {std::string(4'097, 'a'), ErrorKind::kTooLarge},
           {many, ErrorKind::kTooLarge},
       }) {
    auto parsed = Template::parse(c.text);
    ASSERT_FALSE(parsed.has_value()) << c.text;
    EXPECT_EQ(parsed.error().kind(), c.kind) << c.text;
  }
  EXPECT_TRUE(Template::parse("{" + std::string(64, 'a') + "}").has_value());
  EXPECT_TRUE(Template::parse(std::string(4'096, 'a')).has_value());
}

TEST(TemplateTest, secrets_go_out_of_texts_and_trees) {
  std::vector<NamedSecret> secrets{{"a", base::Secret("abcd")}, {"short", base::Secret("xyz")}};
  EXPECT_EQ(without_secrets(std::string("1abcdabcd2 abc xyz"), secrets), "1******2 abc xyz");
  base::json::Value tree{{"abcd", base::json::Array{"zabcd", 1, nullptr}}, {"k", "v"}};
  EXPECT_EQ(base::json::write(without_secrets(tree, secrets)),
            R"({"***":["z***",1,null],"k":"v"})");
}

}  // namespace
}  // namespace tool::definition
