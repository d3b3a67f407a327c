#include "lakeproxy/governance/policy_signature.h"

#include <gtest/gtest.h>

namespace lake::governance {
namespace {

TEST(PolicySignature, reads_names_and_cuts_out_types) {
  struct Case {
    const char* text;
    std::vector<Argument> arguments;
  };
  const Case cases[] = {
      {"(v VARCHAR)", {{"v", "VARCHAR"}}},
      {"  ( v\tDECIMAL(18, 2) ,w_1  STRUCT(a INTEGER, b VARCHAR[]) )\n",
       {{"v", "DECIMAL(18, 2)"}, {"w_1", "STRUCT(a INTEGER, b VARCHAR[])"}}},
      {R"(("a "", b" INTEGER))", {{"a \", b", "INTEGER"}}},
      {R"((v ENUM('a,', 'b)')))", {{"v", "ENUM('a,', 'b)')"}}},
  };
  for (const Case& one : cases) {
    auto arguments = parse_signature(one.text);
    ASSERT_TRUE(arguments) << one.text << ": " << arguments.error().message();
    EXPECT_EQ(*arguments, one.arguments) << one.text;
  }
}

TEST(PolicySignature, refuses_what_is_none) {
  std::string many = "(a0 INTEGER";
  for (int i = 1; i < 33; ++i) many += ", a" + std::to_string(i) + " INTEGER";
  const std::string refused[] = {
      "",
      "v VARCHAR",
      "(v VARCHAR",
      "v VARCHAR)",
      "()",
      "(v)",
      "(v )",
      "(,)",
      "(v VARCHAR,)",
      "(1v VARCHAR)",
      "(v VARCHAR, V INTEGER)",
      "(\"\" VARCHAR)",
      "(\"v VARCHAR)",
      "(v VARCHAR])",
      "(v (VARCHAR)",
      "(\"v\"VARCHAR)",
      "(v-w VARCHAR)",
      "(\"a\nb\" VARCHAR)",
      std::string("(v VARCHAR\0)", 12),
      "(v \xff)",
      many + ")",
      "(v " + std::string(4096, 'x') + ")",
      "(\xd1\x85 VARCHAR)",
      "(" + std::string(256, 'v') + " VARCHAR)",
  };
  for (const std::string& text : refused) {
    auto arguments = parse_signature(text);
    ASSERT_FALSE(arguments) << text;
    EXPECT_EQ(arguments.error().kind(), base::ErrorKind::kInvalid);
    EXPECT_TRUE(arguments.error().message().starts_with("signature: "));
  }
}

}  // namespace
}  // namespace lake::governance
